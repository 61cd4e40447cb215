package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A proposal, which asks a person to approve a call, shows everything that the call will do. Invisible characters become
// visible, and a proposal that was cut says so.
func TestProposalsShowEverything(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, want string }{
		{"nothing", `{}`, "write"},
		{"plain", `{"a":1,"b":["x"]}`, "write {\n  \"a\": 1,\n  \"b\": [\n    \"x\"\n  ]\n}"},
		{"a name twice", `{"to":"ann","to":"eve"}`, "write {\n  \"to\": \"ann\",\n  \"to\": \"eve\"\n}"},
		{"text from right to left", `{"a":"x` + "\u202e" + `gpj.exe"}`, "write {\n  \"a\": \"x⟨U+202E⟩gpj.exe\"\n}"},
		{"the same, escaped", `{"a":"x\u202Egpj.exe"}`, "write {\n  \"a\": \"x⟨U+202E⟩gpj.exe\"\n}"},
		{"zero width", `{"a":"pay` + "\u200b\u2060\ufeff\u00ad" + `pal"}`, "write {\n  \"a\": \"pay⟨U+200B⟩⟨U+2060⟩⟨U+FEFF⟩⟨U+00AD⟩pal\"\n}"},
		{"a terminal's commands", `{"a":"\u001b[2Jx` + "\u009b" + `1m"}`, "write {\n  \"a\": \"\\u001b[2Jx⟨U+009B⟩1m\"\n}"},
		{"lines in a text", `{"a":"x\n\r\ty` + "\u2028" + `z"}`, "write {\n  \"a\": \"x\\n\\r\\ty\\u2028z\"\n}"},
		{"other scripts, escaped", `{"\u0430":"\u4f60\u597d <&>"}`, "write {\n  \"а\": \"你好 <&>\"\n}"},
		{"escaped for nothing", `{"a":"\u0072\u006d \"x\""}`, "write {\n  \"a\": \"rm \\\"x\\\"\"\n}"},
		{"an emoji", `{"a":"👩‍👧 ❤️"}`, "write {\n  \"a\": \"👩‍👧 ❤️\"\n}"},
		{"hidden letters", `{"a":"x` + "\ufe0f\U000e0041\u3164\u2800\u00a0" + `"}`, "write {\n  \"a\": \"x⟨U+FE0F⟩⟨U+E0041⟩⟨U+3164⟩⟨U+2800⟩⟨U+00A0⟩\"\n}"},
		{"a pile of marks", `{"a":"x` + strings.Repeat("\u0301", 6) + `"}`, "write {\n  \"a\": \"x" + strings.Repeat("\u0301", 4) + "⟨U+0301⟩⟨U+0301⟩\"\n}"},
		{"deep", strings.Repeat(`{"a":  [`, 200) + `"rm"` + strings.Repeat("]}", 200), "write " + strings.Repeat(`{"a":[`, 200) + `"rm"` + strings.Repeat("]}", 200)},
		{"half a character", `{"a":"\ud800x"}`, "write {\n  \"a\": \"\uFFFDx\"\n}"},
	} {
		p := propose(parsedCall{ToolCall: ToolCall{Name: "write", Arguments: tt.arguments}})
		if p.Text != tt.want || p.Whole != tt.want {
			t.Errorf("%s: got %q\nbeside it %q\nwant %q", tt.name, p.Text, p.Whole, tt.want)
		}
	}
}

func TestProposalsOfTools(t *testing.T) {
	t.Parallel()
	c := parsedCall{ToolCall: ToolCall{Name: "write", Arguments: `{"a":1}`}}
	for said, want := range map[string]string{
		"":                          "write {\n  \"a\": 1\n}",
		" \u200b\n":                 "write {\n  \"a\": 1\n}",
		"Send \x1b[8m\u2066it\r\n.": "Send ⟨U+001B⟩[8m⟨U+2066⟩it\n.",
		"a\tb\rc":                   "a⟨U+0009⟩b⟨U+000D⟩c",
	} {
		c.def.Propose = func(string) string { return said }
		if got := propose(c).Text; got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
	c.def.Propose = func(string) string { return strings.Repeat("ä", 10_000) }
	got, whole := propose(c).Text, propose(c).Whole
	if shown := strings.Count(got, "ä"); len(got) > maxProposal || shown < 900 || !strings.HasSuffix(got, "… (9024 more characters are not shown)") || shown != 976 {
		t.Errorf("%d shown of …%s", shown, got[len(got)-60:])
	}
	if whole != strings.Repeat("ä", 10_000) {
		t.Errorf("in full there are %d bytes", len(whole))
	}
	c.def.Propose = func(string) string { return strings.Repeat("ä", maxFullText) }
	if whole := propose(c).Whole; len(whole) > maxFullText || !strings.HasSuffix(whole, " more characters are not shown)") {
		t.Errorf("in full there are %d bytes", len(whole))
	}
}

// Only calls that change things can be approved permanently. A read-only call is proposed because of its arguments or of what
// the model has read, so each such call needs its own approval.
func TestStandingApprovals(t *testing.T) {
	t.Parallel()
	if p := propose(parsedCall{def: ToolDef{}}); !p.Standing {
		t.Error("a call that changes things can't be approved once and for all")
	}
	asks := func(ToolCall, CallContext) bool { return true }
	if p := propose(parsedCall{def: ToolDef{ReadOnly: true, Asks: asks}}); p.Standing {
		t.Error("a call that only reads can be approved once and for all")
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		most := rapid.IntRange(100, 300).Draw(t, "most")
		got := plain(s, most)
		if len(got) > most || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of %d: %q", len(got), most, got)
		}
		for _, c := range got {
			if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c) && c != '\u200d') {
				t.Fatalf("%q holds %U", got, c)
			}
		}
	})
}

// approves is an Approver that runs a function before it approves.
type approves func()

func (f approves) Approve(context.Context, Proposal) (Verdict, error) {
	f()
	return Approved, nil
}

// If a tool is replaced while a person decides, the approval does not apply to the new tool. A tool that is temporarily
// missing counts as unchanged.
func TestToolChangesDuringItsApproval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(write *ToolDef)
		want   string
	}{
		"described otherwise": {func(d *ToolDef) { d.Description = "Writes elsewhere." }, "Error: the tool has changed since a person was asked, so nothing was done. Call it again to ask anew."},
		"other arguments":     {func(d *ToolDef) { d.Parameters = json.RawMessage(`{"type":"object"}`) }, "Error: the tool has changed since a person was asked, so nothing was done. Call it again to ask anew."},
		"away":                {func(d *ToolDef) { d.Name = "other" }, "did {}"},
		"the same":            {func(*ToolDef) {}, "did {}"},
	} {
		tools, turn := workshop(), streamed
		turn.Approver = approves(func() { tt.change(&tools[1]) })
		got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", "write {}"), answer{deltas: texts("I see.")})
		if want := "tool a:" + tt.want + "\nassistant:I see."; !strings.HasSuffix(transcript(got.Append), want) {
			t.Errorf("%s: grew by\n%s", name, transcript(got.Append))
		}
	}
}
