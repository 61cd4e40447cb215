package discord

import (
	"slices"
	"sync"

	"telex/platforms/internal/receiving"
)

const (
	// maxChannels bounds the channels whose kind is remembered; others are asked for.
	maxChannels = 50_000
	// maxDirect bounds the DMs that are remembered, newest first: after a lost session each must be asked.
	maxDirect = 200
)

// places is what is known of channels and guilds.
type places struct {
	channels *receiving.Recent[channelInfo]
	// threadless are channels in which no thread can be made, and questions for which none can: true. False: it may again.
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

// join takes over what a guild says of itself.
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

// role returns the role that is the bot's own in a guild, which mentions it as its name does.
func (p *places) role(guild string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roles[guild]
}

// direct notes that somebody was met in a DM.
func (p *places) direct(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dms = slices.DeleteFunc(p.dms, func(c string) bool { return c == channel })
	p.dms = slices.Insert(p.dms, 0, channel)
	p.dms = p.dms[:min(len(p.dms), maxDirect)]
}

// directs returns where people were met, newest first.
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
