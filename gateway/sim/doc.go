// Package sim tests the whole gateway with random schedules in virtual time. A schedule consists of messages, answers,
// faults and kills. The tests use the real gateway, and simulate the networks, the platforms and the model. A simulated
// person looks at the chats, and a judge reports every broken promise.
//
//	schedule ──> world ──> life: a gateway over the store that outlives it ──> script (the model)
//	               │         │                                    └──────────> platform ──> person
//	               └ kills, restarts, outages, what people write  ┘                            │
//	                                                                             judge <───────┘
//
// The simulated platform enforces rate limits and length limits like a real one, and injects faults. The simulated
// person records every version of every message. The judge does not use the gateway's code. The judge compares the
// questions, the model's text and the visible messages, and counts the exceptions that the design allows. Package sim
// is not part of the telex binary.
//
// In half of the schedules, the real agent runs between the gateway and the script, which imitates the model. In these
// schedules, the model calls tools, and tool calls that change something wait for approval. The simulated person
// answers the visible questions for approval once, twice, too late, or not at all. The judge checks that each tool call
// took effect only if it was approved, and that the reported result of the call is true.
//
// In some schedules, several gateways share the store. Schedules with several gateways kill and pause gateways, cut
// gateways off from the store or the platform, and drop signals and responses. A process that has lost its lease counts
// as dead from that moment. In schedules with several gateways, the judge also checks that no process makes a call
// without a lease or in another replica's chat. The judge also checks that all processes together do not exceed the
// limits of an endpoint.
//
// The library rapid generates the schedules. If a schedule fails, rapid reduces it to a smaller one, and prints the
// seed that repeats it:
//
//	make sim                       many schedules, always the same
//	make sim SET=random SETS=40    many more that nobody has played
//	make sim SEED=17 KIND=x        the schedule that failed
//	make sim REPLICAS=1            with several gateways
package sim
