package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

var (
	integer  = regexp.MustCompile(`^[-+]?(0|[1-9][0-9_]*)$`)
	decimal  = regexp.MustCompile(`^[-+]?([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
	days     = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)d(.*)$`)
	keyShape = regexp.MustCompile(`^[A-Za-z_<][A-Za-z0-9_<. -]{0,39}$`)
)

// scalar decodes texts, numbers and booleans.
func (d *decoder) scalar(path string, n *yaml.Node, v reflect.Value, t tags) {
	switch v.Kind() {
	case reflect.String:
		if text, ok := d.text(path, n); ok {
			d.setText(path, n, v, t, text)
		}
	case reflect.Bool:
		if text, ok := d.plain(path, n, "true or false", ""); ok {
			on, known := parseBool(text)
			if !known {
				d.fail(n, "", "%s must be true or false, not %s", displayPath(path), quoted(n))
				return
			}
			v.SetBool(on)
		}
	case reflect.Int:
		if x, ok := d.number(path, n, t, "a whole number", integer); ok {
			v.SetInt(int64(x))
		}
	case reflect.Float64:
		if x, ok := d.number(path, n, t, "a number", decimal); ok {
			v.SetFloat(x)
		}
	default:
		panic("config: no decoding for " + v.Type().String()) // the schema has a field of an unsupported type; any test finds this
	}
}

func (d *decoder) setText(path string, n *yaml.Node, v reflect.Value, t tags, text string) {
	switch {
	case t.required && strings.TrimSpace(text) == "":
		d.fail(n, "", "empty %s", displayPath(path))
	case len(t.enum) > 0 && !slices.Contains(t.enum, text):
		d.fail(n, suggest(text, t.enum), "unknown value %s for %s", quoted(n), displayPath(path))
	default:
		v.SetString(text)
	}
}

// number decodes a number whose text must match the regular expression shape. A float64 represents all integers exactly that
// the bounds in the tags allow.
func (d *decoder) number(path string, n *yaml.Node, t tags, want string, shape *regexp.Regexp) (x float64, ok bool) {
	hint := ""
	if t.unit != "" {
		hint = "a bare number means " + t.unit
	}
	text, ok := d.plain(path, n, want, hint)
	if !ok {
		return 0, false
	}
	if !shape.MatchString(text) {
		d.fail(n, hint, "%s must be %s, not %s", displayPath(path), want, quoted(n))
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if ok, bounds := t.inBounds(x); err != nil || math.IsInf(x, 0) || !ok {
		d.fail(n, "", "%s must be %s, not %s", displayPath(path), bounds, quoted(n))
		return 0, false
	}
	return x, true
}

// duration decodes a duration, such as 60s or 90d.
func (d *decoder) duration(path string, n *yaml.Node, v reflect.Value, t tags) {
	const hint = "write a number with a unit, such as 60s, 5m, 12h or 90d"
	if n.Kind != yaml.ScalarNode || isNull(n) || n.ShortTag() == boolTag {
		d.fail(n, hint, "%s must be a duration, not %s", displayPath(path), kindOf(n))
		return
	}
	text, ok := d.expand(path, n)
	if !ok {
		return
	}
	if text == "0" && t.allow == "zero" {
		v.SetInt(0)
		return
	}
	x, err := ParseDuration(text)
	switch {
	case err != nil && decimal.MatchString(text):
		d.fail(n, hint, "%s has no unit: %s", displayPath(path), quoted(n))
	case err != nil:
		d.fail(n, hint, "%s must be a duration, not %s", displayPath(path), quoted(n))
	case x < 0, x == 0 && t.allow != "zero":
		d.fail(n, "", "%s must be longer than 0, not %s", displayPath(path), quoted(n))
	default:
		v.SetInt(int64(x))
	}
}

// ParseDuration parses a duration such as 90d, 1d12h or 5m: an optional number of days, followed by a duration in the
// syntax of time.ParseDuration.
func ParseDuration(text string) (time.Duration, error) {
	m := days.FindStringSubmatch(text)
	if m == nil {
		return time.ParseDuration(text)
	}
	count, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	total := count * float64(24*time.Hour)
	if m[2] != "" {
		rest, err := time.ParseDuration(m[2])
		if err != nil {
			return 0, err
		}
		if rest < 0 {
			return 0, errors.New("a sign in the middle")
		}
		total += float64(rest)
	}
	if total >= math.MaxInt64 {
		return 0, errors.New("too long")
	}
	return time.Duration(total), nil
}

// parseBool parses a boolean. parseBool also accepts yes, no, on and off, which are booleans in YAML 1.1, because
// people still write them.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// secret decodes a value that must not appear in error messages.
func (d *decoder) secret(path string, n *yaml.Node, v reflect.Value, t tags) {
	key := path[strings.LastIndexByte(path, '.')+1:]
	text := ""
	if !isNull(n) {
		var ok bool
		if text, ok = d.text(path, n); !ok {
			return
		}
	}
	if strings.TrimSpace(text) == "" && t.allow != "empty" {
		d.fail(n, emptyHint(n, key), "empty %s %s", printable(key), in(parent(path)))
		return
	}
	d.storeSecret(path, n, v, text)
}

// storeSecret sets v to a secret. storeSecret fails if the text contains a control character, because no header and no
// URL may contain one.
func (d *decoder) storeSecret(path string, n *yaml.Node, v reflect.Value, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		d.fail(n, "check where it was copied from", "%s holds a line break or a control character", displayPath(path))
		return
	}
	if name, ok := headerName(path); (!ok || isSecretName(name)) && text != SQLite {
		// Also mask the value of each environment variable: in "Bearer ${X}", the value of X alone is a secret, too.
		d.sensitive = append(append(d.sensitive, NewSecret(text)), d.variablesIn(n)...)
	}
	v.Set(reflect.ValueOf(NewSecret(text)))
}

// If the value at path is an HTTP header, headerName returns the header's name. If the value at path is not an HTTP
// header, headerName returns false.
func headerName(path string) (string, bool) {
	before, name, ok := strings.Cut(path, ".headers.")
	return name, ok && before != ""
}

// positionOnly returns a node that has the position of n, but no text. If n is the path of a secret file, storeSecret gets such
// a node: environment variables in this path are not secrets and must not be masked.
func positionOnly(n *yaml.Node) *yaml.Node { return &yaml.Node{Line: n.Line, Column: n.Column} }

// fromFile decodes the key <key>_file. fromFile reads a secret from the named file, or a list of API keys, one on each
// line.
func (d *decoder) fromFile(path string, n *yaml.Node, v reflect.Value, key string) {
	text, ok := d.secretFile(path, n)
	if !ok {
		return
	}
	if v.Type() == reflect.TypeFor[DSN]() {
		v = v.FieldByName("Secret")
	}
	if v.Type() == reflect.TypeFor[Secret]() {
		if strings.TrimSpace(text) == "" {
			d.fail(n, "the file "+quotedPath(n.Value)+" is empty", "empty %s %s", key, in(parent(path)))
			return
		}
		d.storeSecret(path, positionOnly(n), v, text)
		return
	}
	lines := strings.Fields(text)
	out := reflect.MakeSlice(v.Type(), len(lines), len(lines))
	for i, line := range lines {
		var key APIKey
		d.storeSecret(path, positionOnly(n), valueOf(&key.Secret), line)
		out.Index(i).Set(reflect.ValueOf(key))
	}
	v.Set(out)
}

// text returns a scalar as text, with environment variables expanded. text also accepts a number. text refuses null, true and
// false without quotes, because an operator who writes them probably does not mean a text.
func (d *decoder) text(path string, n *yaml.Node) (string, bool) {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "quote a value that begins with !", "tags are not supported, in %s", displayPath(path))
		return "", false
	case n.Kind == yaml.ScalarNode && n.ShortTag() == boolTag:
		d.fail(n, "put quotes around it", "%s must be text, not true or false", displayPath(path))
		return "", false
	case n.Kind != yaml.ScalarNode || isNull(n):
		d.fail(n, "", "%s must be text, not %s", displayPath(path), kindOf(n))
		return "", false
	}
	d.raw[path] = n.Value
	return d.expand(path, n)
}

// plain returns the text of a number or a boolean. plain refuses a quoted value, unless the value contains an
// environment variable.
func (d *decoder) plain(path string, n *yaml.Node, want, hint string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		d.fail(n, hint, "%s must be %s, not %s", displayPath(path), want, kindOf(n))
		return "", false
	case n.Style != 0 && !strings.Contains(n.Value, "${"):
		if hint == "" {
			hint = "remove the quotes"
		}
		d.fail(n, hint, "%s must be %s, not text", displayPath(path), want)
		return "", false
	}
	return d.expand(path, n)
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}

// quoted returns a node's value for an error message, in quotes and as the file contains the value: an environment variable
// appears as ${NAME}. Use quoted only for keys whose values are not secret.
func quoted(n *yaml.Node) string { return fmt.Sprintf("%q", shorten(n.Value)) }

// quotedAt is like quoted, but quotes the text at a path.
func (d *decoder) quotedAt(path string) string { return fmt.Sprintf("%q", shorten(d.raw[path])) }

// quotedKey returns a key for an error message, in quotes. If the key looks like a misplaced secret, quotedKey returns
// a placeholder.
func quotedKey(key string) string {
	if p := printable(key); p != key {
		return p
	}
	return fmt.Sprintf("%q", key)
}

// printable returns a key for an error message. If the key does not look like a key, it may be a secret, and printable returns
// a placeholder.
func printable(key string) string {
	digits := 0
	for _, r := range key {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	if !keyShape.MatchString(key) && !endpointName.MatchString(key) || digits > 6 || len(key) > 40 {
		return "(not shown)"
	}
	return key
}

// shorten shortens a text that an error message quotes, so that the message stays readable.
func shorten(text string) string {
	const limit = 40
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}
