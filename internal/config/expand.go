package config

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

var (
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// expand fills in ${NAME} from the environment; $${ stands for a literal ${. It works on one parsed scalar,
// so a value with YAML syntax in it stays a value. What is wrong is reported, and ok is false.
func (d *decoder) expand(path string, n *yaml.Node) (text string, ok bool) {
	var b strings.Builder
	rest, ok := n.Value, true
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			return b.String(), ok
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		b.WriteString(rest[:i])
		rest = rest[i+2:]
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !envName.MatchString(name) {
			// What stands between the braces may be a pasted secret.
			d.fail(n, "write ${NAME} with the name of an environment variable, or $${ for a literal ${",
				"${ without a variable's name in %s", human(path))
			ok = false
			continue
		}
		rest = after
		value, set := d.env.lookup(name)
		if !set {
			d.fail(n, "set it, or write $${ for a literal ${", "environment variable %s is not set, in %s", name, human(path))
			ok = false
			continue
		}
		if soundsSecret(name) {
			d.sensitive = append(d.sensitive, NewSecret(value))
		}
		b.WriteString(value)
	}
}

// variablesIn returns the values of the environment variables that a scalar names.
func (d *decoder) variablesIn(n *yaml.Node) []Secret {
	var out []Secret
	for _, m := range reference.FindAllStringSubmatch(n.Value, -1) {
		if value, ok := d.env.lookup(m[1]); ok {
			out = append(out, NewSecret(value))
		}
	}
	return out
}

// emptyHint says why a secret may have come out empty.
func emptyHint(n *yaml.Node, key string) string {
	if strings.Contains(n.Value, "${") {
		return fmt.Sprintf("%s is set to nothing in the environment", n.Value)
	}
	return fmt.Sprintf("write %q or %q", key+": ${NAME}", key+"_file: PATH")
}
