package config

import (
	"reflect"
	"slices"
	"strings"
)

// refuseUnbuilt complains about a value that the schema knows and this version can't do: it is never ignored. Whoever builds
// a thing deletes its tags, and takes the comment signs from its section in config.yaml.example.
func (d *decoder) refuseUnbuilt(path string, at place, t tags, was, now any) {
	if t.unbuilt == "" || reflect.DeepEqual(was, now) {
		return
	}
	values, isList := now.([]string)
	if !isList {
		values = []string{plainText(now)}
	}
	if !slices.ContainsFunc(values, func(one string) bool { return !slices.Contains(t.built, one) }) {
		return
	}
	works := t.built
	if text := plainText(was); text != "" && text != `""` && !slices.Contains(works, text) {
		works = append([]string{text}, works...)
	}
	hint := "leave it out"
	if len(works) > 0 {
		hint = "this version takes " + strings.Join(works, " or ")
	}
	d.failAt(at, hint, "%s: %s not built yet", human(path), t.unbuilt)
}

// plainText returns a value as the tags write it, "" for what is no scalar.
func plainText(value any) string {
	if n, ok := scalarNode(reflect.ValueOf(value)); ok && n.Value != "" {
		return n.Value
	} else if ok {
		return `""`
	}
	return ""
}
