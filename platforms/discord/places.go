package discord

import (
	"slices"
	"sync"
)

const (
	// mostRooms bounds the channels whose kind is remembered; others are asked for.
	mostRooms = 50_000
	// mostDirect bounds the DMs that are remembered, newest first: after a lost session each must be asked.
	mostDirect = 200
)

// places is what is known of channels and guilds.
type places struct {
	mu      sync.Mutex
	rooms   map[string]room
	roles   map[string]string // by guild, the role that is the bot's own
	dms     []string          // newest first
	forgoes map[string]bool   // channels in which no thread can be made, and questions for which none can
}

func newPlaces() *places {
	return &places{rooms: make(map[string]room), roles: make(map[string]string), forgoes: make(map[string]bool)}
}

func (p *places) add(r room) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isSnowflake(r.ID) {
		return
	}
	if len(p.rooms) >= mostRooms {
		clear(p.rooms)
	}
	r.Last = ""
	p.rooms[r.ID] = r
}

func (p *places) room(id string) (room, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.rooms[id]
	return r, ok
}

// join takes over what a guild says of itself.
func (p *places) join(g *guild, self string) {
	for _, list := range [][]room{g.Channels, g.Threads} {
		for _, r := range list {
			r.Guild = g.ID
			p.add(r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range g.Roles {
		if self != "" && r.Tags.Bot == self {
			p.roles[g.ID] = r.ID
		}
	}
	// Permissions may have changed while it was away.
	for _, r := range g.Channels {
		delete(p.forgoes, r.ID)
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
	p.dms = p.dms[:min(len(p.dms), mostDirect)]
}

// directs returns where people were met, newest first.
func (p *places) directs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dms)
}

// forgo notes that no thread can be made in a channel, or for a question, and reports whether that is news.
func (p *places) forgo(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := !p.forgoes[id]
	if len(p.forgoes) >= mostRooms {
		clear(p.forgoes) // each is found out again
	}
	p.forgoes[id] = true
	return news
}

func (p *places) forgone(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forgoes[id]
}
