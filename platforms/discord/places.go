package discord

import (
	"slices"
	"sync"

	"telex/platforms/internal/receiving"
)

const (
	// maxChannels bounds the channels whose kind is remembered; others are looked up.
	maxChannels = 50_000
	// maxDirect bounds the DMs that are remembered, newest first: a backfill reads each of them.
	maxDirect = 200
)

// places is what is known of channels and guilds.
type places struct {
	channels *receiving.Recent[channelInfo]
	// threadless has true for channels and questions for which no thread can be made. False: it is possible again.
	threadless *receiving.Recent[bool]

	mu    sync.Mutex
	roles map[string]string // by guild, the role that is the bot's own
	dms   []string          // newest first
}

func (p *places) add(r channelInfo) {
	if r.Last = ""; isSnowflake(r.ID) {
		p.channels.Put(r.ID, r)
	}
}

// join notes a guild's channels and the bot's own role in it.
func (p *places) join(g *guild, self string) {
	for _, r := range slices.Concat(g.Channels, g.Threads) {
		r.Guild = g.ID
		p.add(r)
	}
	for _, r := range g.Channels {
		if p.isThreadless(r.ID) { // permissions may have changed while it was away
			p.threadless.Put(r.ID, false)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range g.Roles {
		if self != "" && r.Tags.Bot == self {
			p.roles[g.ID] = r.ID
		}
	}
}

// role returns the bot's own role in a guild. A mention of it mentions the bot.
func (p *places) role(guild string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roles[guild]
}

// direct notes a DM in which somebody wrote.
func (p *places) direct(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dms = slices.DeleteFunc(p.dms, func(c string) bool { return c == channel })
	p.dms = slices.Insert(p.dms, 0, channel)
	p.dms = p.dms[:min(len(p.dms), maxDirect)]
}

// directs returns the known DMs, newest first.
func (p *places) directs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dms)
}

// disableThreads notes that no thread can be made in a channel, or for a question, and reports whether that was not known.
func (p *places) disableThreads(id string) bool {
	known := p.isThreadless(id)
	p.threadless.Put(id, true)
	return !known
}

// isThreadless reports whether no thread can be made in a channel, or for a question.
func (p *places) isThreadless(id string) bool {
	is, _ := p.threadless.Get(id)
	return is
}
