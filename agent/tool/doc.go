// Package tool has the built-in tools of agents: time, fetch for web pages, memory, and the tools for Home Assistant. It
// also joins several toolboxes to one.
//
//	toolbox.go   the built-in tools; joined toolboxes
//	define.go    makes a tool from a Go function, with its schema and validated arguments
//	partial.go   reads a value from arguments that are still being written (pure)
//	clock.go     time: the current time, time zones, conversion
//	fetch.go     fetch: reads a web page for the model
//	guard.go     decides which addresses may be reached (pure)
//	dial.go      makes all requests to web pages, also through a proxy
//	page.go      turns responses into text: readability, Markdown, character sets (pure)
//	domains.go   lists of hosts (pure)
//	memory.go    remember, recall, forget
//	facts.go     the interface of the store for facts
//	states.go    ha_states: states of a Home Assistant installation
//	service.go   ha_call_service: calls Home Assistant's actions, each after approval
//	homeassistant.go  Home Assistant's APIs
//
// # What fetch may reach
//
// fetch uses only http and https, only ports 80 and 443, and only public addresses. It checks the IP address at each
// connection, also after a redirect. So neither a name with a private address nor a name whose address changes gets
// through. Behind a proxy, fetch looks up and checks the name itself, and asks the proxy for that IP address.
//
// # When fetch needs approval
//
// A page can tell the model to fetch an address that contains data of the conversation. Therefore an address needs approval
// unless the asker typed exactly that address, or its domain is listed. Redirects are followed only within a site and to
// listed domains, since nobody typed or approved other targets.
//
// # What the tools for Home Assistant may reach
//
// They reach only the configured installation, even at a private address. The arguments become parts of a path and the data
// of a call, never an address or a template. Every call of an action needs approval, and the person sees all that is sent.
// Names and states are outside content.
//
// # When memory needs approval
//
// Remembering changes only the bot's notes about the asker, so it usually needs no approval: a question for each "call me
// Ada" would annoy. But outside content in the conversation could cause the call, and its text would then reappear in
// every later conversation. In that case a person must approve (agent.CallContext.Outside). Facts about a person are shown
// in a group only after that person has approved it.
package tool
