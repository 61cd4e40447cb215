package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// If the operator approved a tool in the configuration, its calls run without asking a person. Calls of such a tool run one
// after the other, and the journal records them as calls that change something.
func TestAutoApprovedCallsAskNobody(t *testing.T) {
	t.Parallel()
	tools := workshop()
	tools[1].AutoApprove = true
	var began []bool
	p := &person{verdict: Denied}
	turn := streamed
	turn.Approver, turn.Journal = p, &journal{onBegin: func(changes bool) { began = append(began, changes) }}
	got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", "write {}"), answer{deltas: texts("Done.")})
	if got.Text != "Done." || len(p.proposals) > 0 || len(began) != 1 || !began[0] || got.Append[1].Text != "did {}" {
		t.Errorf("%q, begun %v, proposed %+v, grew by\n%s", got.Text, began, p.proposals, transcript(got.Append))
	}
}

// A tool's revision is part of its version, so a new revision makes earlier approvals invalid. Without a revision, the version
// must equal the versions in existing stores, so that the stored approvals stay valid.
func TestRevisionIsPartOfTheVersion(t *testing.T) {
	t.Parallel()
	d := ToolDef{Name: "a", Description: "b", Parameters: []byte("{}")}
	before := d.version()
	d.Revision = `{"readOnlyHint":true}`
	if d.version() == before || before != "d5a0224be4492e30" {
		t.Errorf("the version is %s, and %s without a revision", d.version(), before)
	}
}

// Each progress message restarts the time limit of its call, with or without a text. But the end of the turn's context still
// ends the call.
func TestProgressExtendsACall(t *testing.T) {
	for _, tt := range []struct {
		steps int
		limit time.Duration
		takes time.Duration
		want  error
	}{
		{0, time.Hour, 2 * time.Second, errDeadline},
		{5, time.Hour, 9500 * time.Millisecond, errDeadline},
		{100, 20 * time.Second, 20 * time.Second, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			begun := time.Now()
			out := dispatch(ctx, []job{{def: ToolDef{Timeout: 2 * time.Second, Call: func(ctx context.Context, in Input) (Output, error) {
				for range tt.steps {
					if err := Sleep(ctx, 1500*time.Millisecond); err != nil {
						return Output{}, err
					}
					in.Progress("")
				}
				<-ctx.Done()
				return Output{}, ctx.Err()
			}}}}, 1, func(int) {}, func(n report) {
				if n.outcome == nil {
					t.Errorf("told %q", n.text)
				}
			})
			if !errors.Is(out[0].err, tt.want) || time.Since(begun) != tt.takes {
				t.Errorf("%d steps: %v after %v, want %v", tt.steps, out[0].err, time.Since(begun), tt.takes)
			}
		})
	}
}
