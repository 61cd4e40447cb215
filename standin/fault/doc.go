// Package fault decides which calls to a stand-in are hit by faults. The package also holds calls, so that a test can
// kill the client at an exact moment of a call.
//
// Each stand-in has its own type of fault: a rule that selects calls and describes what happens to them. A Table stores
// a stand-in's faults, counts calls, and returns the fault that hits a call. Holds manages the calls that faults hold.
// An Outage takes precedence over all faults.
package fault
