package config

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// reference matches ${NAME} and extracts the name. reference also matches the beginning of a wrong reference, and $${,
// which is literal text.
var reference = regexp.MustCompile(`\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?`)

// expand replaces ${NAME} by the value of the environment variable NAME, and $${ by a literal ${. expand expands one
// scalar after YAML was parsed, so YAML syntax in a value has no effect. If expand has reported an error, ok is false.
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
			// The text between the braces may be a pasted secret.
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

// emptyHint explains why the value of a secret is empty, for an error message.
func emptyHint(n *yaml.Node, key string) string {
	if strings.Contains(n.Value, "${") {
		return fmt.Sprintf("%s is set to nothing in the environment", n.Value)
	}
	return fmt.Sprintf("write %q or %q", key+": ${NAME}", key+"_file: PATH")
}
