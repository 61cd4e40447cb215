package config

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// reference matches ${NAME} and extracts the name. reference also matches $${, which stands for a literal ${, and it matches
// the beginning of an invalid reference.
var reference = regexp.MustCompile(`\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?`)

// expand replaces ${NAME} in a scalar by the value of the environment variable NAME, and $${ by a literal ${. The YAML was
// parsed before expand is called, so YAML syntax in a variable's value has no effect. If expand has reported an error, the
// result ok is false.
func (d *decoder) expand(path string, n *yaml.Node) (text string, ok bool) {
	before := len(d.errs)
	text = reference.ReplaceAllStringFunc(n.Value, func(found string) string {
		if literal, ok := strings.CutPrefix(found, "$$"); ok {
			return "$" + literal
		}
		name := reference.FindStringSubmatch(found)[1]
		value, set := d.env.lookup(name)
		switch {
		case name == "":
			// Don't show the text between the braces: it may be a secret that was pasted there.
			d.fail(n, "write ${NAME} with the name of an environment variable, or $${ for a literal ${",
				"${ without a variable's name in %s", displayPath(path))
		case !set:
			d.fail(n, "set it, or write $${ for a literal ${", "environment variable %s is not set, in %s", name, displayPath(path))
		case isSecretName(name):
			d.sensitive = append(d.sensitive, NewSecret(value))
		}
		return value
	})
	return text, len(d.errs) == before
}

// variablesIn returns the values of the environment variables to which a scalar refers.
func (d *decoder) variablesIn(n *yaml.Node) []Secret {
	var out []Secret
	for _, m := range reference.FindAllStringSubmatch(n.Value, -1) {
		if value, ok := d.env.lookup(m[1]); ok && m[1] != "" {
			out = append(out, NewSecret(value))
		}
	}
	return out
}

// emptyHint returns a hint for an error message that says why a secret may be empty.
func emptyHint(n *yaml.Node, key string) string {
	if strings.Contains(n.Value, "${") {
		return fmt.Sprintf("%s is empty in the environment", n.Value)
	}
	return fmt.Sprintf("write %q or %q", key+": ${NAME}", key+"_file: PATH")
}
