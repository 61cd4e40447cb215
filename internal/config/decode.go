package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// These are the short names of YAML's standard tags.
const (
	nullTag  = "!!null"
	boolTag  = "!!bool"
	intTag   = "!!int"
	floatTag = "!!float"
)

// position is a place in the configuration file.
type position struct{ line, column int }

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// decoder decodes YAML nodes into a Config and collects all errors. The methods of decoder identify a value by a path. A path
// consists of the keys and indexes that lead to the value in the file, joined by dots.
type decoder struct {
	file      string
	dir       string // directory to which relative paths of secret files refer; not used if systemd passes credentials
	env       Env
	bundled   map[string][]byte // contents of the secret files in a bundle, by name; nil: read secret files from the disk
	endpoints map[string]string // kind of each endpoint, by name; set before the sections are decoded
	errs      Errors
	warnings  Errors
	positions map[string]position
	invalid   map[string]bool   // paths of values with an error, and of the sections that contain them
	raw       map[string]string // texts by path, as the file contains them, with unexpanded environment variables
	sensitive []Secret          // all secret values found so far
}

// customDecoder is implemented by types that decode their YAML node themselves.
type customDecoder interface {
	decode(d *decoder, path string, n *yaml.Node)
}

func (d *decoder) fail(n *yaml.Node, hint, format string, args ...any) {
	d.failAt(positionOf(n), hint, format, args...)
}

func (d *decoder) failAt(at position, hint, format string, args ...any) {
	d.errs = append(d.errs, &Error{
		File: d.file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (d *decoder) warn(n *yaml.Node, format string, args ...any) {
	d.warnAt(positionOf(n), format, args...)
}

func (d *decoder) warnAt(at position, format string, args ...any) {
	d.warnings = append(d.warnings, &Error{
		File: d.file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...),
	})
}

// at returns the position of the value at a path, or of its nearest parent that has a position.
func (d *decoder) at(path string) position {
	for {
		if p, ok := d.positions[path]; ok {
			return p
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return position{1, 1}
		}
		path = path[:i]
	}
}

func (d *decoder) isSet(path string) bool {
	_, ok := d.positions[path]
	return ok
}

// value decodes a node into v, which already contains the default. value reports whether it has set v.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value, t tags) bool {
	before := len(d.errs)
	d.dispatch(path, resolve(n), v, t)
	if len(d.errs) > before {
		d.invalid[path] = true
		return false
	}
	return true
}

// dispatch calls the method that decodes a node into a value of v's type.
func (d *decoder) dispatch(path string, n *yaml.Node, v reflect.Value, t tags) {
	if n.Style&yaml.TaggedStyle != 0 {
		// Don't show the name of the tag, because YAML parses an unquoted secret that begins with "!" as a tag.
		d.fail(n, "quote a value that begins with !", "tags are not supported, in %s", displayPath(path))
		return
	}
	if c, ok := reflect.TypeAssert[customDecoder](v.Addr()); ok {
		c.decode(d, path, n)
		return
	}
	switch v.Type() {
	case reflect.TypeFor[Secret]():
		d.secret(path, n, v, t)
		return
	case reflect.TypeFor[DSN]():
		d.secret(path, n, v.FieldByName("Secret"), t)
		return
	case reflect.TypeFor[time.Duration]():
		d.duration(path, n, v, t)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if x, ok := reflect.TypeAssert[interface{ setDefaults() }](v.Addr()); ok {
			x.setDefaults()
		}
		d.structure(path, n, v)
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if d.value(path, n, fresh.Elem(), t) {
			v.Set(fresh)
		}
	case reflect.Slice:
		d.list(path, n, v, t)
	case reflect.Map:
		d.mapping(path, n, v)
	default:
		d.scalar(path, n, v, t)
	}
}

// structure decodes a mapping whose keys are the fields of a struct.
func (d *decoder) structure(path string, n *yaml.Node, v reflect.Value) {
	d.fields(path, n, d.pairs(path, n), v)
}

// fields decodes the keys of the mapping n into the fields of the struct v.
func (d *decoder) fields(path string, n *yaml.Node, pairs []pair, v reflect.Value) {
	known := make(map[string]field)
	for _, f := range fieldsOf(v.Type()) {
		known[f.key] = f
	}
	present := make(map[string]bool)
	for _, p := range pairs {
		present[p.key] = true
	}
	for _, p := range pairs {
		at := join(path, p.key)
		name, isFile := strings.CutSuffix(p.key, "_file")
		f, ok := known[p.key]
		isFile = !ok && isFile && known[name].holdsSecrets()
		switch {
		case isFile:
			f, at = known[name], join(path, name)
		case !ok && d.endpointRule(path, p, v):
			continue
		case !ok:
			d.fail(p.keyNode, d.keyHint(p.key, v), "unknown key %s %s", quotedKey(p.key), in(path))
			continue
		}
		if !d.isSet(at) {
			d.positions[at] = positionOf(p.keyNode)
		}
		field := v.Field(f.index)
		switch {
		case isFile && present[name]:
			d.fail(p.keyNode, "keep one of them", "both %s and %s in %s", name, p.key, displayPath(path))
		case isFile:
			d.fromFile(join(path, p.key), p.value, field, name)
		default:
			d.value(at, p.value, field, f.tags)
		}
	}
	d.requireKeys(path, n, v)
}

// requireKeys reports required keys that are missing. A required key that is present but empty is reported by another method.
func (d *decoder) requireKeys(path string, n *yaml.Node, v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		at := join(path, f.key)
		if !f.tags.required || d.isSet(at) {
			continue
		}
		hint := fmt.Sprintf("add %q", f.key+": ...")
		if f.holdsSecrets() {
			hint = fmt.Sprintf("add %q or %q", f.key+": ${NAME}", f.key+"_file: PATH")
		}
		where := positionOf(n)
		if p, ok := d.positions[path]; ok {
			where = p
		}
		d.failAt(where, hint, "missing key %q %s", f.key, in(path))
	}
}

// endpointRule decodes a key of the section streaming if the key is the name of an endpoint, and reports whether it
// is.
func (d *decoder) endpointRule(path string, p pair, v reflect.Value) bool {
	rules, ok := reflect.TypeAssert[*StreamingRules](v.Addr())
	if !ok {
		return false
	}
	if _, ok := d.endpoints[p.key]; !ok {
		return false
	}
	at := join(path, p.key)
	d.positions[at] = positionOf(p.keyNode)
	var rule StreamingRule
	d.value(at, p.value, valueOf(&rule), tags{})
	if rules.Endpoints == nil {
		rules.Endpoints = make(map[string]StreamingRule)
	}
	rules.Endpoints[p.key] = rule
	return true
}

// keyHint returns a hint for an unknown key, such as the name of a similar key.
func (d *decoder) keyHint(key string, v reflect.Value) string {
	keys := d.keysAt(v)
	if v.Type() == reflect.TypeFor[StreamingRules]() && nearest(key, keys) == "" {
		return "it is neither a key of streaming nor an endpoint under platforms"
	}
	return suggest(key, keys)
}

// keysAt returns the valid keys in a mapping that is decoded into the struct v. Error messages about unknown keys suggest one
// of these valid keys.
func (d *decoder) keysAt(v reflect.Value) []string {
	var keys []string
	for _, f := range fieldsOf(v.Type()) {
		keys = append(keys, f.key)
		if f.holdsSecrets() {
			keys = append(keys, f.key+"_file")
		}
	}
	switch v.Addr().Interface().(type) {
	case *StreamingRules:
		keys = append(keys, keysOf(d.endpoints)...)
	case *Telegram, *Discord, *Slack, *WhatsApp, *HomeAssistant, *APIServer:
		keys = append(keys, "kind")
	}
	return keys
}

func (d *decoder) list(path string, n *yaml.Node, v reflect.Value, t tags) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "write [a, b] or one entry per line with a dash", "%s must be a list, not %s", displayPath(path), kindOf(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := join(path, fmt.Sprint(i))
		d.positions[at] = positionOf(item)
		d.value(at, item, out.Index(i), t)
	}
	v.Set(out)
}

// mapping decodes a mapping whose keys the operator chooses, such as the names of headers.
func (d *decoder) mapping(path string, n *yaml.Node, v reflect.Value) {
	out := reflect.MakeMap(v.Type())
	for _, p := range d.pairs(path, n) {
		at := join(path, p.key)
		d.positions[at] = positionOf(p.keyNode)
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(at, p.value, item, tags{})
		out.SetMapIndex(reflect.ValueOf(p.key), item)
	}
	v.Set(out)
}

// pair is a key of a mapping and its value.
type pair struct {
	key     string
	keyNode *yaml.Node
	value   *yaml.Node
}

// pairs returns the keys of a mapping with their values, in order and without duplicates. An empty section is valid,
// because an operator may have commented out all its lines; for such a section, pairs returns nothing.
func (d *decoder) pairs(path string, n *yaml.Node) []pair {
	n = resolve(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "", "%s must be a mapping of keys to values, not %s", displayPath(path), kindOf(n))
		return nil
	}
	var out []pair
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := resolve(n.Content[i])
		switch {
		case k.Kind != yaml.ScalarNode || k.Style&yaml.TaggedStyle != 0 && k.ShortTag() != "!!merge":
			d.fail(k, "write key: value", "a key must be a plain word, %s", in(path))
			continue
		case k.ShortTag() == "!!merge":
			d.fail(k, "write the keys out, or use an alias for a whole value", "merge keys (<<) are not supported, %s", in(path))
			continue
		}
		if first, twice := lines[k.Value]; twice {
			d.fail(k, fmt.Sprintf("first on line %d", first), "duplicate key %s %s", quotedKey(k.Value), in(path))
			continue
		}
		lines[k.Value] = k.Line
		out = append(out, pair{key: k.Value, keyNode: k, value: resolve(n.Content[i+1])})
	}
	return out
}

// resolve returns the node to which the alias n refers, but with the position of the alias. If n is not an alias, resolve
// returns n unchanged.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		target := *n.Alias
		target.Line, target.Column = n.Line, n.Column
		n = &target
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == nullTag }

// kindOf describes in an error message what kind of value a node has, without showing the value.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case nullTag:
		return "nothing"
	case boolTag:
		return "true or false"
	case intTag, floatTag:
		return "a number"
	}
	return "text"
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// displayPath returns a path in the form that error messages show, such as models[0].api_key.
func displayPath(path string) string {
	if path == "" {
		return "the file"
	}
	var b strings.Builder
	for i, part := range strings.Split(path, ".") {
		switch {
		case part != "" && strings.Trim(part, "0123456789") == "" && i > 0:
			b.WriteString("[" + part + "]")
		case i > 0:
			b.WriteString("." + printable(part))
		default:
			b.WriteString(printable(part))
		}
	}
	return b.String()
}

// in returns words that say, in an error message about a key, which section contains the key. path is the path of the section.
func in(path string) string {
	if path == "" {
		return "at the top level"
	}
	return "in " + displayPath(path)
}
