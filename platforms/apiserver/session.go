package apiserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// history contains the conversation before a request, and the messages that the request adds to it.
type history struct {
	summary  string
	context  string // the system and developer messages of earlier requests of the conversation
	messages []agent.Message
	added    []agent.Message // messages that the request itself contains
	entries  []chat.Entry    // the stored entries of messages, if the request belongs to a session
	newest   int64           // number of the session's newest entry; 0: the session has no entries
}

var sessionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$`)

// sessionName returns the name of the session to which a request belongs, or "" if the request belongs to no session.
// The parameter header is the value of the header X-Telex-Session, which names the session. If the header
// X-Telex-Session is missing and byUser is true, the request's field user selects the session. sessionName ignores this
// field if the request contains answers of a model or names a previous response, because such a request has its own
// history.
func sessionName(header string, q *query, byUser bool) (string, *apiError) {
	switch {
	case header != "" && q.previous != "":
		return "", badRequest("previous_response_id", "A request has a session or a previous response, not both.")
	case header != "" && !sessionPattern.MatchString(header):
		return "", badRequest("X-Telex-Session", "Invalid session name: use letters, digits and . _ @ + -, at most 128.")
	case header != "":
		return header, nil
	case !byUser || q.user == "" || q.previous != "" || slices.ContainsFunc(q.messages, isAnswer):
		return "", nil
	case sessionPattern.MatchString(q.user):
		return "user." + q.user, nil
	}
	sum := sha256.Sum256([]byte(q.user))
	return "user." + hex.EncodeToString(sum[:8]), nil
}

func isAnswer(m agent.Message) bool { return m.Role == agent.Assistant }

// history reads the conversation before the request from the store.
func (x *exchange) history(ctx context.Context) (history, *apiError) {
	switch h := (history{added: x.query.messages}); {
	case x.session.Thread != "":
		return x.sessionHistory(ctx, h)
	case x.query.previous != "":
		return x.responseHistory(ctx, h)
	case len(h.added) == 0:
		return h, badRequest("messages", "There is no message to answer.")
	default:
		return h, nil
	}
}

// sessionHistory reads the history of the session from the store. A request that belongs to a session may contain the
// whole conversation, even though the store also contains the session. sessionHistory therefore keeps only those
// messages of the request that follow the last answer of the model.
func (x *exchange) sessionHistory(ctx context.Context, h history) (history, *apiError) {
	for i, m := range slices.Backward(h.added) {
		if isAnswer(m) {
			h.added = h.added[i+1:]
			break
		}
	}
	if len(h.added) == 0 {
		return h, badRequest("messages", "There is no message behind the last answer.")
	}
	session, entries, err := x.Store.Session(ctx, x.session)
	if err != nil {
		return h, x.storeError(ctx, "a session could not be read", err)
	}
	h.summary, h.entries = session.Summary, entries
	for _, e := range entries {
		var m agent.Message
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return h, x.storeError(ctx, "a session could not be read", fmt.Errorf("entry %d: %w", e.ID, err))
		}
		h.messages, h.newest = append(h.messages, m), e.ID
	}
	return h, nil
}

// compaction converts a turn's compaction to its stored form. A compaction replaces old messages with a summary. If a
// compaction replaced no stored entries, the method compaction returns nil.
func (h history) compaction(c *agent.Compaction) *chat.Compaction {
	if c == nil || c.Messages == 0 || c.Messages > len(h.entries) {
		return nil
	}
	return &chat.Compaction{Summary: c.Summary, Upto: h.entries[c.Messages-1].ID}
}

// storedTurn contains the messages of one turn, as the store keeps them for each response.
type storedTurn struct {
	Context string `json:"context,omitempty"` // the request's system and developer messages, but not its instructions
	// Summary replaces all messages of the conversation before Messages, including earlier responses. Summary is empty
	// if no message was summarized.
	Summary  string          `json:"summary,omitempty"`
	Messages []agent.Message `json:"messages"`
}

// newStoredTurn returns the messages that a turn adds to its conversation. If the turn summarized older messages, the
// result instead contains the summary and all messages that the summary does not replace.
func (x *exchange) newStoredTurn(t agent.Turn, past history, result agent.Result) storedTurn {
	l := storedTurn{Context: x.query.context, Messages: slices.Concat(past.added, result.Append)}
	if c := result.Compaction; c != nil {
		l.Summary, l.Messages = c.Summary, slices.Concat(t.Messages[c.Messages:], result.Append)
	}
	return l
}

func (l storedTurn) encode() []byte { return encode(l) }

// responseHistory reads the conversation that ends with the previous response from the store.
func (x *exchange) responseHistory(ctx context.Context, h history) (history, *apiError) {
	chain, err := x.Store.Responses(ctx, x.personOf(x.client), x.query.previous)
	if err != nil {
		return h, x.storeError(ctx, "responses could not be read", err)
	}
	if len(chain) == 0 {
		return h, &apiError{
			status: 400, kind: invalidRequest, param: "previous_response_id", code: "previous_response_not_found",
			message: fmt.Sprintf("Previous response with id %q not found.", clip(x.query.previous)),
		}
	}
	for _, r := range chain {
		var l storedTurn
		if err := json.Unmarshal(r.Messages, &l); err != nil {
			return h, x.storeError(ctx, "responses could not be read", fmt.Errorf("response %s: %w", r.ID, err))
		}
		if l.Summary != "" {
			h.summary, h.messages = l.Summary, nil
		}
		h.context = paragraphs(h.context, l.Context)
		h.messages = append(h.messages, l.Messages...)
	}
	if len(h.messages)+len(h.added) == 0 {
		return h, badRequest("input", "There is no message to answer.")
	}
	return h, nil
}

func encodeAll(messages []agent.Message) [][]byte {
	var out [][]byte
	for _, m := range messages {
		out = append(out, encode(m))
	}
	return out
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode messages: %w", err)) // encoding these types can't fail
	}
	return data
}

// sessionLocks makes the requests that belong to the same session run one after the other. The zero value of
// sessionLocks is ready to use.
type sessionLocks struct {
	mu   sync.Mutex
	held map[chat.Conversation]chan struct{} // each channel is closed when the lock of its conversation is released
}

// lock waits until no other request that belongs to the session runs. If the conversation has no session, lock returns
// immediately.
func (l *sessionLocks) lock(ctx context.Context, c chat.Conversation) (unlock func(), err error) {
	if c.Thread == "" {
		return func() {}, nil
	}
	for {
		l.mu.Lock()
		busy := l.held[c]
		if busy == nil {
			if l.held == nil {
				l.held = make(map[chat.Conversation]chan struct{})
			}
			mine := make(chan struct{})
			l.held[c] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, c)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
