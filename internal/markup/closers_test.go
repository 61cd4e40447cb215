package markup

import "testing"

// Layout closes several open constructs at once, so their closing delimiters are adjacent. The parser must not read
// these delimiters as one run, which would close nothing and would be shown as text.
func TestClosersSideBySide(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"a ~~b ~~c d":        "a ~~b c d",
		"a ~~b ~~c ~~d e":    "a ~~b ~~c d e",
		"w **a **b c <b>":    "w **a b c <b>",
		"x**a **b <b>":       "x**a b <b>",
		"**a _b **c **d <b>": "a b **c d <b>",
		"a **b ~~c *d":       "a b c d",
	} {
		laid := Layout(src, Options{Dialect: Plain{}, Limit: 100, Open: true})
		if len(laid) != 1 || laid[0].Rendered.Text != want {
			t.Errorf("%q is shown as %+v, want %q", src, laid, want)
		}
	}
}
