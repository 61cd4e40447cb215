package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"telex/agent"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
	"telex/platforms/terminal"
)

// sessionRow describes a session. Scripts read a sessionRow as JSON.
type sessionRow struct {
	Conversation string     `json:"conversation"`
	Messages     int        `json:"messages"`
	LastActivity *time.Time `json:"last_activity"` // null: no message is stored
	Tokens       int        `json:"tokens"`
	Model        string     `json:"model"` // name of the chosen model; empty: none was chosen
	Summarized   bool       `json:"summarized"`
}

// ListSessions writes the conversations that have stored data, newest first. A daemon may use the store at the same
// time.
func ListSessions(ctx context.Context, env config.Env, o Output) (err error) {
	r, err := openReader(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := r.Sessions(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.json(sessionRows(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.Remarks, "No conversation is stored yet.")
		return err
	}
	rows := [][]string{{"CONVERSATION", "MESSAGES", "LAST ACTIVITY", "TOKENS", "MODEL", "SUMMARIZED"}}
	for _, s := range list {
		summary := "no"
		if s.Summary {
			summary = "yes"
		}
		rows = append(rows, []string{
			s.Conversation.String(), strconv.Itoa(s.Entries), localTime(s.Newest), strconv.Itoa(s.Tokens), cmp.Or(s.Model, "-"), summary,
		})
	}
	return o.table(rows...)
}

func sessionRows(list []store.SessionInfo) []sessionRow {
	rows := []sessionRow{}
	for _, s := range list {
		row := sessionRow{
			Conversation: s.Conversation.String(), Messages: s.Entries, Tokens: s.Tokens, Model: s.Model, Summarized: s.Summary,
		}
		if !s.Newest.IsZero() {
			row.LastActivity = &s.Newest
		}
		rows = append(rows, row)
	}
	return rows
}

// transcript is the stored data of a conversation. Scripts read a transcript as JSON.
type transcript struct {
	Conversation string              `json:"conversation"`
	Model        string              `json:"model"`
	Summary      string              `json:"summary"`
	SummaryAt    *time.Time          `json:"summary_at"`
	Messages     []transcriptMessage `json:"messages"`
}

// transcriptMessage is one message of a history.
type transcriptMessage struct {
	Role       string    `json:"role"`
	Person     string    `json:"person,omitempty"` // who asked the question; empty if unknown
	At         time.Time `json:"at"`
	Text       string    `json:"text"`
	Images     int       `json:"images"`
	Tool       string    `json:"tool,omitempty"`  // role tool: the tool that returned this result
	Calls      []call    `json:"calls,omitempty"` // tool calls of the model
	Summarized bool      `json:"summarized"`      // the model gets a summary in place of this message
}

// call is a model's call of a tool.
type call struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // JSON, as the model wrote it
}

// ShowSession writes the history of a conversation. A daemon may use the store at the same time.
func ShowSession(ctx context.Context, env config.Env, o Output, c chat.Conversation) (err error) {
	r, err := openReader(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s, entries, err := r.Transcript(ctx, c)
	if err != nil {
		return err
	}
	if len(entries) == 0 && s.Summary == "" && s.Model == "" {
		return errNoSession(c)
	}
	t, err := newTranscript(c, s, entries)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.json(t)
	}
	return writeTranscript(o.Results, t)
}

func newTranscript(c chat.Conversation, s chat.Session, entries []chat.Entry) (transcript, error) {
	t := transcript{Conversation: c.String(), Model: s.Model, Summary: s.Summary, Messages: []transcriptMessage{}}
	if s.Summary != "" {
		t.SummaryAt = &s.At
	}
	for _, e := range entries {
		var m agent.Message
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return transcript{}, fmt.Errorf("read entry %d of the history: %w", e.ID, err)
		}
		line := transcriptMessage{Role: string(m.Role), At: e.At, Text: m.Text, Images: len(m.Images), Summarized: e.ID <= s.SummaryUpto}
		if m.Role == agent.ToolRole {
			line.Tool = m.Name
		}
		for _, c := range m.ToolCalls {
			line.Calls = append(line.Calls, call{c.Name, c.Arguments})
		}
		if e.User != "" && m.Role == agent.User {
			line.Person = chat.Person{Endpoint: c.Endpoint, User: e.User}.String()
		}
		t.Messages = append(t.Messages, line)
	}
	return t, nil
}

// writeTranscript writes a transcript as text. writeTranscript removes control characters, because they could control
// the operator's terminal.
func writeTranscript(w io.Writer, t transcript) error {
	var b strings.Builder
	if t.Summary != "" {
		fmt.Fprintf(&b, "[%s summary of earlier messages, which the model no longer sees]\n%s\n\n", localTime(*t.SummaryAt), terminal.CleanSource(t.Summary))
	}
	for _, m := range t.Messages {
		who := m.Role
		if m.Person != "" {
			who += " " + oneLine(m.Person)
		}
		if m.Tool != "" {
			who += " " + oneLine(m.Tool)
		}
		if m.Summarized {
			who += ", summarized"
		}
		fmt.Fprintf(&b, "[%s %s]\n", localTime(m.At), who)
		if m.Text != "" {
			fmt.Fprintln(&b, terminal.CleanSource(m.Text))
		}
		for range m.Images {
			b.WriteString("[image]\n")
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "[calls %s %s]\n", oneLine(c.Tool), oneLine(c.Arguments))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// DeleteSession deletes the stored data of a conversation, and stops the conversation's turns.
func DeleteSession(ctx context.Context, env config.Env, o Output, c chat.Conversation) error {
	return deleteWith(ctx, env, o, Deletion{Conversation: c.String()}, c.String())
}

// DeletePerson deletes the data of a person in all conversations of the person's endpoint, and stops the person's
// turns.
func DeletePerson(ctx context.Context, env config.Env, o Output, p chat.Person) error {
	return deleteWith(ctx, env, o, Deletion{Person: p.String()}, p.String())
}

func deleteWith(ctx context.Context, env config.Env, o Output, what Deletion, name string) error {
	return operate(ctx, env, func(do operations) error {
		d, err := do.delete(ctx, what)
		if err != nil {
			return err
		}
		if o.JSON {
			return o.json(d)
		}
		if what.Person != "" && d == (Deleted{}) {
			return o.line("%s: nothing was stored about this person.", oneLine(name))
		}
		also := ""
		if d.Code {
			also = "; their pairing code, and access by a code, are revoked"
		}
		noun := "messages"
		if d.Messages == 1 {
			noun = "message"
		}
		return o.line("%s: %d %s deleted%s.", oneLine(name), d.Messages, noun, also)
	})
}
