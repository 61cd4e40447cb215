package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Show writes the values of all settings as YAML, in the order of the schema. Show masks secrets, even where they are a part of
// another text.
func (c *Config) Show(w io.Writer) error {
	s := printer{secrets: c.sensitive}
	root := s.structure(reflect.ValueOf(c).Elem())
	if c.envStreaming != nil {
		streaming := child(root, "streaming")
		enabled := child(streaming, "enabled")
		enabled.Value = strconv.FormatBool(*c.envStreaming)
		enabled.LineComment = "# from " + envStreaming
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := enc.Close(); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// printer converts the values in a Config to YAML nodes, and masks secrets.
type printer struct{ secrets []Secret }

func (s printer) structure(v reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		if n := s.value(v.Field(f.index)); n != nil {
			out.Content = append(out.Content, textNode(f.key), n)
		}
	}
	if rules, ok := reflect.TypeAssert[StreamingRules](v); ok {
		for _, name := range keysOf(rules.Endpoints) {
			out.Content = append(out.Content, textNode(name), s.structure(reflect.ValueOf(rules.Endpoints[name])))
		}
	}
	return out
}

// value returns a YAML node for a value, or nil if the value is not set.
func (s printer) value(v reflect.Value) *yaml.Node {
	switch x := v.Interface().(type) {
	case Endpoints:
		return s.endpoints(x)
	case map[string]Secret:
		return s.headers(x)
	case DSN:
		return textNode(x.masked())
	case MCPServer:
		return s.structure(reflect.ValueOf(x.redacted()))
	}
	if n, ok := scalarNode(v); ok {
		n.Value = s.clean(n.Value)
		return n
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return s.value(v.Elem())
	case reflect.Struct:
		return s.structure(v)
	case reflect.Slice:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			out.Content = append(out.Content, s.value(v.Index(i)))
		}
		if v.Len() == 0 || v.Type().Elem().Kind() == reflect.String {
			out.Style = yaml.FlowStyle
		}
		return out
	case reflect.Map:
		out := &yaml.Node{Kind: yaml.MappingNode}
		texts, _ := reflect.TypeAssert[map[string]string](v)
		for _, k := range keysOf(texts) {
			out.Content = append(out.Content, textNode(k), textNode(s.clean(texts[k])))
		}
		return out
	}
	return nil
}

func (s printer) endpoints(es Endpoints) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := range es {
		body := s.structure(valueOf(es[i].Settings))
		body.Content = append([]*yaml.Node{textNode("kind"), textNode(es[i].Kind)}, body.Content...)
		out.Content = append(out.Content, textNode(es[i].Name), body)
	}
	return out
}

// headers returns a YAML node for headers. headers masks the value of a header if the header's name shows that the
// value is secret.
func (s printer) headers(m map[string]Secret) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range keysOf(m) {
		text := m[name].String()
		if !isSecretName(name) {
			text = s.clean(m[name].Reveal())
		}
		out.Content = append(out.Content, textNode(name), textNode(text))
	}
	return out
}

// scalarNode returns a YAML node for a text, a number, a boolean, a duration, a pattern, or a masked secret.
func scalarNode(v reflect.Value) (*yaml.Node, bool) {
	x := v.Interface()
	switch y := x.(type) {
	case Secret, Pattern:
		x = fmt.Sprint(y)
	case time.Duration:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: formatDuration(y)}, true
	case float64:
		text := strconv.FormatFloat(y, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}, true
	}
	switch reflect.TypeOf(x).Kind() {
	case reflect.String, reflect.Bool, reflect.Int:
		n := &yaml.Node{}
		return n, n.Encode(x) == nil // the method Encode can't fail for these types
	}
	return nil, false
}

// clean masks the secrets in a text. clean also escapes ${, so that Parse would return the same text.
func (s printer) clean(text string) string {
	return strings.ReplaceAll(mask(text, s.secrets), "${", "$${")
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// formatDuration formats a duration in the syntax of config.yaml, such as 90d, 5m or 1m30s.
func formatDuration(x time.Duration) string {
	const day = 24 * time.Hour
	if x >= day && x%day == 0 {
		return strconv.FormatInt(int64(x/day), 10) + "d"
	}
	text := x.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
