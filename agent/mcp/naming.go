package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"telex/agent"
)

// nameFor returns what a server's tool is called. It depends on these two alone, so that it is the same at any time and in
// any order. A name that had to be changed ends in a hash of what it was, and so differs from all others.
func nameFor(server, tool string) string {
	name := agent.SafeName(server + "_" + tool)
	if name == server+"_"+tool {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), agent.MaxToolName-len(hash))] + hash
}
