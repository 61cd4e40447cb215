// Package tool has the tools that every agent can be given: the time, pages of the web, and what a person
// asked to be remembered. It also joins tools from several places to one agent.Toolbox.
//
//	toolbox.go   which tools there are; several toolboxes as one
//	define.go    a tool made from a Go function: its schema, its checked arguments
//	partial.go   a value out of arguments that are still being written (pure)
//	clock.go     time: now, elsewhere, converted
//	fetch.go     fetch: a page of the web, read for the model
//	guard.go     which addresses may be reached (pure)
//	dial.go      the one way to reach them, also behind a proxy
//	page.go      what came, made into text: readability, Markdown, character sets (pure)
//	domains.go   lists of hosts (pure)
//	memory.go    remember, recall, forget
//	facts.go     where facts are kept
//	states.go    ha_states: states of a Home Assistant installation
//	service.go   ha_call_service: calls of its actions, each after approval
//	homeassistant.go  its APIs
//
// # What fetch reaches
//
// Only http and https, only ports 80 and 443, only addresses that the whole internet can reach. The name is
// looked up and the address judged when it is dialed, at every redirect anew, so that neither a name that
// resolves to a private address nor one that changes its mind gets by. Behind a proxy the dialed address is the
// proxy's: then the name is looked up and judged here, and the proxy is asked for that very address.
//
// # What fetch asks
//
// A page can tell the model to fetch an address that carries away what the conversation holds. So an address
// that the asker did not type, exactly as it is to be fetched, needs approval, unless its domain is listed. A
// redirect is followed within its site and to listed domains: nobody typed or approved any other.
//
// # What the tools for Home Assistant reach
//
// Only the configured installation, wherever it is: the guard of fetch does not hold for it. The arguments become parts of a path
// and the data of a call, never an address or a template. Every call of an action needs approval, and the person sees all that
// is sent. Names and states are outside content.
//
// # What memory asks
//
// Remembering changes only the bot's own notes of the person who asks, so it needs no approval: it would be a
// question for each "call me Ada". But once the model reads any outside content (agent.Said.Outside), that may be what asks,
// and what it planted would be there in every conversation to come: then a person approves. What is remembered of a person is
// shown to a group once that person, and nobody in their place, has approved it.
package tool
