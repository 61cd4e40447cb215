package sim

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"telex/gateway"
)

// toldLines match the lines that say what an interrupted answer did, without white space. Each line names a call, or
// the tool if nobody was asked about the call. Calls that only read are not mentioned.
var toldLines = sync.OnceValue(func() map[gateway.TextKey]*regexp.Regexp {
	lines := map[gateway.TextKey]*regexp.Regexp{}
	for _, k := range []gateway.TextKey{gateway.TextCarriedOut, gateway.TextCallFailed, gateway.TextCallUnknown} {
		pattern := regexp.QuoteMeta(squeeze(texts()[k]))
		lines[k] = regexp.MustCompile(strings.ReplaceAll(pattern, `\{what\}`, "(?:Do("+deedName.String()+")|"+change+"|"+alter+")"))
	}
	return lines
})

// judgeToldOf checks that the lines below the answer of a turn say the truth about its calls.
func (w *world) judgeToldOf(t *turnLog) {
	if slices.ContainsFunc(t.calls, func(c *call) bool { return c.fault == badContent && !c.m.Preview }) {
		w.except(refusedContent) // a line without its beginning may look like another line
		return
	}
	if w.givenUp(t) {
		w.except(givenUp) // here, too, a line without its beginning may look like another line
		return
	}
	text, whole := "", "" // whole includes the excused messages; one of them may contain the middle of a line
	for _, m := range w.person.of(t.id) {
		if m.stands() {
			whole += squeeze(m.text())
		}
	}
	for _, m := range w.person.of(t.id) {
		switch {
		case m.deletedBy == "person":
			text += "\x00" // so that the lines above and below it don't look like one
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
