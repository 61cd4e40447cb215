// Package sim tests the whole gateway with random schedules in virtual time. Everything is real except the networks and
// the model. A simulated person looks at the chats, and a judge reports every broken promise.
//
//	schedule ──> world ──> life: a gateway over the store that outlives it ──> script (the model)
//	               │         │                                    └──────────> platform ──> person
//	               └ kills, restarts, outages, what people write  ┘                            │
//	                                                                             judge <───────┘
//
// The platform enforces the usual limits and injects faults. The person records every version of every message. The
// judge does not use the gateway's code: it compares the questions, the model's text and the visible messages, and
// counts the exceptions that the design allows. This package is not part of the binary.
//
// In half of the schedules the real agent runs between the gateway and the script. The model calls tools, and calls
// that change something wait for approval. The person answers the visible questions: once, twice, too late, or not at
// all. The judge compares the effect of each call with the approvals, and the result of each call with its effect.
//
// Several gateways may share the store. Schedules kill and pause them, cut them off from the store or the platform, and
// lose signals and responses. A process that loses its lease counts as dead from then on. In addition to all other
// checks, no process may make a call without a lease or in another replica's chat, and all processes together must keep
// to an endpoint's limits.
//
// The library rapid draws the schedules. So a failing schedule is shrunk and can be repeated by its seed:
//
//	make sim                       many schedules, always the same
//	make sim SET=random SETS=40    many more that nobody has played
//	make sim SEED=17 KIND=x        the schedule that failed
//	make sim REPLICAS=1            with several gateways
package sim
