package discord

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"telex/internal/chat"
)

// buckets knows which calls count together: those whose answers name the same bucket.
// https://docs.discord.com/developers/topics/rate-limits#header-format
type buckets struct {
	mu    sync.Mutex
	names map[chat.Op]string // of the calls through a channel, by one kind of call each
}

func newBuckets() *buckets { return &buckets{names: make(map[chat.Op]string)} }

// rateLimitInfo returns what an answer says of the limit that its call counted against. A channel's bucket
// counts for itself; calls by an interaction's token have one for each, which only edits are many enough to fill.
func (b *buckets) rateLimitInfo(r request, h http.Header) []chat.RateLimitInfo {
	limit, err1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	left, err2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, err3 := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	name := h.Get("X-RateLimit-Bucket")
	switch {
	case err1 != nil || err2 != nil || err3 != nil || name == "" || r.op == 0,
		limit <= 0 || left < 0 || left > limit || !(reset >= 0) || reset > (24*time.Hour).Seconds():
		return nil
	}
	t := chat.RateLimitInfo{Scope: chat.ScopeThread, Limit: limit, Remaining: left, Reset: time.Duration(reset * float64(time.Second))}
	switch {
	case r.token == "":
		t.Ops = b.sharing(r.op, name)
	case r.op == chat.OpEdit:
		t.Scope, t.Ops = chat.ScopeMessage, chat.OpEdit
	default:
		return nil
	}
	return []chat.RateLimitInfo{t}
}

// sharing notes the bucket of a kind of call, and returns all kinds that share it as far as is known.
func (b *buckets) sharing(op chat.Op, name string) chat.Op {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names[op] = name
	for other, n := range b.names {
		if n == name {
			op |= other
		}
	}
	if op&chat.OpSend != 0 {
		op |= chat.OpFile // a file is sent by the same route
	}
	return op
}
