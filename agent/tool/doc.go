// Package tool has the built-in tools of agents: time, fetch for web pages, memory, and the tools for Home Assistant. The
// package also combines several toolboxes.
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
// fetch uses only http and https, only ports 80 and 443, and only public addresses. fetch checks the IP address at each
// connection, also after a redirect. So fetch refuses a host name with a private address, even if the name had a public
// address before. If there is a proxy, fetch looks up the host name itself, checks the IP address, and tells the proxy to
// connect to this address.
//
// # When fetch needs approval
//
// A web page can tell the model to fetch an address that contains data of the conversation. Therefore fetch needs a person's
// approval, unless the asker typed exactly that address or the configuration lists its domain. fetch follows redirects only
// within a site and to listed domains, because nobody typed or approved other addresses.
//
// # What the tools for Home Assistant may reach
//
// The tools for Home Assistant connect only to the configured installation, which may have a private address. The model's
// arguments become parts of a path, or data of a call. The arguments never become an address or a template. Every call of an
// action of Home Assistant needs approval, and the person sees all data that is sent. The names and states that Home Assistant
// returns are outside content.
//
// # When memory needs approval
//
// The tool remember changes only the bot's notes about the asker. A call of remember usually needs no approval, because a
// question after each "call me Ada" would annoy people. But if the conversation contains outside content, such as a web page,
// that content could have caused the call. If remember stored text of the web page, the text would reappear in every later
// conversation, so a person must approve the call (agent.CallContext.Outside). In a group, the tool recall shows facts about a
// person only after that person has approved the call.
package tool
