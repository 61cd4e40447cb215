package conformance

import "testing"

func TestCheckMarks(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"plain ▌":                        true,
		"**bold** and *it* and ***b*** ": true,
		"**bold ▌":                       false,
		"*it":                            false,
		"~~gone":                         false,
		"`code":                          false,
		"``a ` b`` and `c**`":            true,
		`\*\* \_ \` + "`" + ` \[`:        true,
		"[a](https://x.org/a_(b)?c=*)":   true,
		"[a](https://x.or":               false,
		"```go\nx ** y\n```":             true,
		"```go\nx":                       false,
		"> ```\n> x\n> ```\n\nafter":     true,
		"**a\n\nb**":                     false,
		"**a\nb**":                       true,
		"```one line```":                 true,
		Sample:                           true,
	} {
		if err := checkMarks(text); (err == nil) != good {
			t.Errorf("%q: %v, want it good: %t", text, err, good)
		}
	}
}
