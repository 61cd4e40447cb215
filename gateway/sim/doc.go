// Package sim holds tests that would find a liar: the whole gateway, with everything it is made
// of but the networks and the model, plays random schedules in virtual time, and a person who
// looks at the chats says what is wrong.
//
//	schedule ──> world ──> life: a gateway over the store that outlives it ──> script (the model)
//	               │         │                                    └──────────> platform ──> person
//	               └ kills, restarts, outages, what people write  ┘                            │
//	                                                                             judge <───────┘
//
// The platform enforces what platforms enforce and lets faults happen; the person keeps every
// version of every message; the judge knows nothing of how the engine works: it compares what
// people asked, what the model said, and what they read in the end, and counts the exceptions
// that the design allows. Nothing here is part of the binary.
//
// In half of the schedules the real agent runs between the gateway and the script: the model calls
// tools, calls that change something wait for an approval, and the person answers what they see,
// twice, too late, or not at all. The judge holds each effect against what people said, and each
// answer to a call against what it did.
//
// Several gateways may share the store: they are killed, paused, cut off from the store or from the platform, and lose signals and
// answers. A process that loses its lease counts as dead from then on. On top of all else, no call may be made without a lease or
// in a chat of another replica, and the calls of all together keep to an endpoint's limits.
//
// A schedule is drawn by rapid, so that a failure is made small and comes with a seed:
//
//	make sim                       many schedules, always the same
//	make sim SET=random SETS=40    many more that nobody has played
//	make sim SEED=17 KIND=x        the one that failed
//	make sim REPLICAS=1            with several gateways
package sim
