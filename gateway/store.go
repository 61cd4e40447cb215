package gateway

import (
	"telex/gateway/access"
	"telex/gateway/approval"
	"telex/gateway/history"
)

// Store contains all storage methods that the gateway needs. Each part of the gateway declares an interface with the
// methods that it uses, and gets only this interface.
type Store interface {
	Inbox
	Revisions
	Turns
	Endings
	Deliveries
	history.Steps
	history.Sessions
	Histories
	Accounts
	approval.Store
	Facts
	access.Store
	Chats
	Blocks
}

// stores holds the same Store several times, once as each interface that Store embeds.
type stores struct {
	inbox      Inbox
	revisions  Revisions
	turns      Turns
	endings    Endings
	deliveries Deliveries
	steps      history.Steps
	sessions   history.Sessions
	histories  Histories
	accounts   Accounts
	approvals  approval.Store
	facts      Facts
	chats      Chats
	blocks     Blocks
}

func newStores(s Store) stores {
	return stores{
		inbox: s, revisions: s, turns: s, endings: s, deliveries: s, steps: s, sessions: s, histories: s, accounts: s, approvals: s, facts: s, chats: s, blocks: s,
	}
}
