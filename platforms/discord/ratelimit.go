package discord

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"telex/internal/chat"
)

// buckets records which kinds of calls share a rate limit. Two kinds share a limit if the headers of Discord's
// responses name the same bucket for both.
// https://docs.discord.com/developers/topics/rate-limits#header-format
type buckets struct {
	mu    sync.Mutex
	names map[chat.Op]string // maps each kind of call to the bucket of such calls with the bot's own token
}

func newBuckets() *buckets { return &buckets{names: make(map[chat.Op]string)} }

// rateLimitInfo returns what the headers of a response say about the rate limit of the call. Discord counts the calls
// of each channel and of each interaction token separately. Among the calls with an interaction token, only edits are
// frequent enough to exhaust their bucket. For all other calls with an interaction token, rateLimitInfo returns nil.
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
		t.Ops = b.recordBucket(r.op, name)
	case r.op == chat.OpEdit:
		t.Scope, t.Ops = chat.ScopeMessage, chat.OpEdit
	default:
		return nil
	}
	return []chat.RateLimitInfo{t}
}

// recordBucket records which bucket a kind of call uses, and returns all kinds of calls that are known to use the same
// bucket.
func (b *buckets) recordBucket(op chat.Op, name string) chat.Op {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names[op] = name
	for other, n := range b.names {
		if n == name {
			op |= other
		}
	}
	if op&chat.OpSend != 0 {
		op |= chat.OpFile // files are sent through the same API route as messages
	}
	return op
}
