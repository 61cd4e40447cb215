package config

import (
	"reflect"
	"slices"
	"strings"
)

// notBuilt is one thing that the schema knows and this version can't do. Setting it to anything but its
// default is refused, never ignored.
type notBuilt struct {
	path     string   // of a key or of a whole section; * is any one part
	allowed  []string // values that work besides the default; of a list, its elements
	sentence string   // says what is not built; it ends in "not built yet"
}

// notBuiltYet lists what is missing. Whoever builds a thing deletes its row and takes the comment signs from
// its section in config.yaml.example.
func notBuiltYet() []notBuilt {
	return []notBuilt{
		{path: "tools.enabled", allowed: []string{"time", "fetch", "memory"}, sentence: "this tool is not built yet"},
		{path: "platforms.*.kind", allowed: []string{"discord", "slack"}, sentence: "this kind of platform is not built yet"},
		{path: "platforms.*.mode", allowed: []string{"polling"}, sentence: "webhooks are not built yet"},
		{path: "platforms.*.webhook", sentence: "webhooks are not built yet"},
		{path: "store.dsn", sentence: "a choice of databases is not built yet"},
		{path: "admin.listen", allowed: []string{""}, sentence: "the admin server is not built yet"},
		{path: "admin.token", sentence: "the admin server is not built yet"},
		{path: "admin.show_text", sentence: "the admin server is not built yet"},
	}
}

// refuseNotBuilt complains about every setting of something that is missing.
func (d *decoder) refuseNotBuilt() {
	rows := notBuiltYet()
	var refused []string
	for _, s := range d.settings {
		if slices.ContainsFunc(refused, func(p string) bool { return strings.HasPrefix(s.path, p+".") }) {
			continue
		}
		i := slices.IndexFunc(rows, func(r notBuilt) bool { return r.covers(s.path) })
		if i < 0 || reflect.DeepEqual(s.was, s.now.Interface()) || rows[i].allows(s.now) {
			continue
		}
		refused = append(refused, s.path)
		d.failAt(s.at, rows[i].hint(s.was), "%s: %s", human(s.path), rows[i].sentence)
	}
}

// allows reports whether a value works besides the default.
func (r notBuilt) allows(v reflect.Value) bool {
	list, isList := reflect.TypeAssert[[]string](v)
	if !isList {
		return slices.Contains(r.allowed, plainText(v))
	}
	return len(r.allowed) > 0 && !slices.ContainsFunc(list, func(one string) bool { return !slices.Contains(r.allowed, one) })
}

// covers reports whether the row speaks of a path or of something around it.
func (r notBuilt) covers(path string) bool {
	row, parts := strings.Split(r.path, "."), strings.Split(path, ".")
	if len(parts) < len(row) {
		return false
	}
	for i, part := range row {
		if part != "*" && part != parts[i] {
			return false
		}
	}
	return true
}

func (r notBuilt) hint(was any) string {
	works := r.allowed
	if text := plainText(reflect.ValueOf(was)); text != "" && !slices.Contains(works, text) {
		works = append([]string{text}, works...)
	}
	quoted := make([]string, 0, len(works))
	for _, w := range works {
		if w == "" {
			w = `""`
		}
		quoted = append(quoted, w)
	}
	if len(quoted) == 0 {
		return "leave it out"
	}
	return "this version takes " + strings.Join(quoted, " or ")
}

// plainText returns a value as the rows write it, "" for what is no scalar.
func plainText(v reflect.Value) string {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	n, ok := scalarNode(v)
	if !ok {
		return ""
	}
	return n.Value
}
