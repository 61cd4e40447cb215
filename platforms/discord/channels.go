package discord

import (
	"slices"
	"sync"

	"telex/platforms/internal/receiving"
)

const (
	// maxChannels limits the channels whose type the bot remembers. If the bot does not remember the type of a channel, it
	// requests the type from Discord when necessary.
	maxChannels = 50_000
	// maxDMs limits how many DMs the bot remembers, because a backfill reads each remembered DM.
	maxDMs = 200
)

// channelCache remembers the types of channels, the known DMs, and other facts about channels and guilds.
type channelCache struct {
	channels *receiving.Recent[channelInfo]
	// threadless contains the value true for a channel in which Discord refuses to create threads, and for a question for
	// which Discord refuses to create a thread. In threadless, the value false means that the bot may try again to create
	// a thread.
	threadless *receiving.Recent[bool]

	mu    sync.Mutex
	roles map[string]string // maps a guild to the bot's own role in the guild
	dms   []string          // newest first
}

func (p *channelCache) add(r channelInfo) {
	if r.Last = ""; isSnowflake(r.ID) {
		p.channels.Put(r.ID, r)
	}
}

// addGuild records a guild's channels and the bot's own role in the guild.
func (p *channelCache) addGuild(g *guild, self string) {
	for _, r := range slices.Concat(g.Channels, g.Threads) {
		r.Guild = g.ID
		p.add(r)
	}
	for _, r := range g.Channels {
		if p.isThreadless(r.ID) { // the bot's permissions in the channel may have changed meanwhile, so try again
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

// role returns the bot's own role in a guild. A person who mentions the bot's own role mentions the bot.
func (p *channelCache) role(guild string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roles[guild]
}

// addDM records a DM in which somebody wrote.
func (p *channelCache) addDM(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dms = slices.DeleteFunc(p.dms, func(c string) bool { return c == channel })
	p.dms = slices.Insert(p.dms, 0, channel)
	p.dms = p.dms[:min(len(p.dms), maxDMs)]
}

// knownDMs returns the known DMs, newest first.
func (p *channelCache) knownDMs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dms)
}

// disableThreads records that no thread can be created in a channel or for a question. disableThreads returns false if
// isThreadless was already true for the channel or question.
func (p *channelCache) disableThreads(id string) bool {
	known := p.isThreadless(id)
	p.threadless.Put(id, true)
	return !known
}

// isThreadless reports whether no thread can be created in a channel or for a question.
func (p *channelCache) isThreadless(id string) bool {
	is, _ := p.threadless.Get(id)
	return is
}
