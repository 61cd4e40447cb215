package config

import (
	"reflect"
	"slices"
	"strings"
)

// Changes lists the differences between two configurations, in the order of the schema. Examples are "access.default changed"
// and "platforms.support added". The list of differences contains no values, because a value may be a secret.
func Changes(before, after *Config) []string {
	var c changes
	c.structure("", reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
	return c
}

type changes []string

func (c *changes) add(path, what string) { *c = append(*c, displayPath(path)+" "+what) }

func (c *changes) structure(path string, a, b reflect.Value) {
	for _, f := range fieldsOf(a.Type()) {
		c.value(join(path, f.key), a.Field(f.index), b.Field(f.index))
	}
	if rules, ok := reflect.TypeAssert[StreamingRules](a); ok {
		c.entries(path, ruleEntries(rules), ruleEntries(convertTo[StreamingRules](b)))
	}
}

func (c *changes) value(path string, a, b reflect.Value) {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	before := len(*c)
	switch x := a.Interface().(type) {
	case Endpoints:
		c.entries(path, endpointEntries(x), endpointEntries(convertTo[Endpoints](b)))
	case []Model:
		c.entries(path, namedEntries(x, func(m Model) string { return m.Name }), namedEntries(convertTo[[]Model](b), func(m Model) string { return m.Name }))
	case []MCPServer:
		c.entries(path, namedEntries(x, func(s MCPServer) string { return s.Name }), namedEntries(convertTo[[]MCPServer](b), func(s MCPServer) string { return s.Name }))
	case Secret, DSN:
	default:
		if a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() {
			a, b = a.Elem(), b.Elem()
		}
		if a.Kind() == reflect.Struct {
			c.structure(path, a, b)
		}
	}
	if len(*c) == before { // no change was found inside the value: the key has no parts, or the order of a list differs
		c.add(path, "changed")
	}
}

// convertTo converts a value to the type T.
func convertTo[T any](v reflect.Value) T {
	out, _ := reflect.TypeAssert[T](v)
	return out
}

// entry is an element of a list whose elements have unique names.
type entry struct {
	name  string
	value reflect.Value // the list's element, which is a struct
}

func namedEntries[T any](list []T, name func(T) string) (out []entry) {
	for _, e := range list {
		out = append(out, entry{name(e), reflect.ValueOf(e)})
	}
	return out
}

func endpointEntries(list Endpoints) (out []entry) {
	for _, e := range list {
		out = append(out, entry{e.Name, reflect.ValueOf(e.Settings).Elem()})
	}
	return out
}

func ruleEntries(r StreamingRules) (out []entry) {
	for _, name := range keysOf(r.Endpoints) {
		out = append(out, entry{name, reflect.ValueOf(r.Endpoints[name])})
	}
	return out
}

func (c *changes) entries(path string, before, after []entry) {
	find := func(list []entry, name string) int {
		return slices.IndexFunc(list, func(e entry) bool { return e.name == name })
	}
	for _, e := range before {
		switch i := find(after, e.name); {
		case i < 0:
			c.add(join(path, e.name), "removed")
		case after[i].value.Type() != e.value.Type():
			c.add(join(join(path, e.name), "kind"), "changed")
		default:
			c.structure(join(path, e.name), e.value, after[i].value)
		}
	}
	for _, e := range after {
		if find(before, e.name) < 0 {
			c.add(join(path, e.name), "added")
		}
	}
}

// CheckReload returns an error for each changed key whose new value can take effect only after a restart.
func (c *Config) CheckReload(before *Config) error {
	const hint = "restart the daemon, which loses nothing"
	var errs Errors
	for _, change := range Changes(before, c) {
		path, what, _ := strings.Cut(change, " ")
		if what == "added" || what == "removed" || !c.needsRestart(path, before) {
			continue
		}
		errs = append(errs, c.problem(path, path+" can't change while the daemon runs", hint))
	}
	return errs.err()
}

// needsRestart reports whether a new value of the key at path can take effect only after a restart.
func (c *Config) needsRestart(path string, before *Config) bool {
	switch {
	case strings.HasPrefix(path, "store."), path == "log.format":
		return true
	case path == adminListen: // a daemon that was started without an admin address collects no metrics, so it must restart
		return before.Admin.Listen == ""
	}
	for _, e := range before.Endpoints {
		at := join("platforms", e.Name)
		if path == join(at, "kind") || e.Kind == KindAPIServer && path == join(at, "max_requests") {
			return true
		}
	}
	return false
}
