package sim

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"telex/gateway"
)

// An interrupted answer is followed by lines that tell people which tool calls it made. toldLines returns patterns for
// the lines about tool calls. The patterns match text without white space. Each line names a call, or only the tool if
// nobody was asked about the call. No line mentions a call that only reads.
var toldLines = sync.OnceValue(func() map[gateway.TextKey]*regexp.Regexp {
	lines := map[gateway.TextKey]*regexp.Regexp{}
	for _, k := range []gateway.TextKey{gateway.TextCarriedOut, gateway.TextCallFailed, gateway.TextCallUnknown} {
		pattern := regexp.QuoteMeta(squeeze(texts()[k]))
		lines[k] = regexp.MustCompile(strings.ReplaceAll(pattern, `\{what\}`, "(?:Do("+deedName.String()+")|"+change+"|"+alter+")"))
	}
	return lines
})

// judgeToldOf checks that the lines below an interrupted answer say correctly what its tool calls did.
func (w *world) judgeToldOf(t *turnLog) {
	if slices.ContainsFunc(t.calls, func(c *call) bool { return c.fault == badContent && !c.m.Preview }) {
		w.except(refusedContent) // the beginning of a line may be missing, so that it looks like another line
		return
	}
	if w.givenUp(t) {
		w.except(givenUp) // if the gateway gave up a message, the beginning of a line may be missing
		return
	}
	text, whole := "", "" // whole includes the text of excused messages, since one of them may contain the middle of a line
	for _, m := range w.person.of(t.id) {
		if m.stands() {
			whole += squeeze(m.text())
		}
	}
	for _, m := range w.person.of(t.id) {
		switch {
		case m.deletedBy == "person":
			text += "\x00" // so that the text above and below the deleted message does not look like one line
		case m.stands() && !w.excused(m):
			text += squeeze(m.text())
		}
	}
	for k, line := range toldLines() {
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			if found[1] == "" || !strings.Contains(whole, found[0]) {
				continue
			}
			d := w.deeds[found[1]]
			w.counts.add("people are told: "+string(k), 1)
			switch {
			case d == nil:
				w.complain("turn %s tells of %s, which no model called", t.id, found[1])
			case k != gateway.TextCallUnknown && len(d.effects) == 0, k == gateway.TextCallFailed && !d.fails:
				w.complain("turn %s says %s of %s, which had %d effects", t.id, k, d.key, len(d.effects))
			}
		}
	}
}
