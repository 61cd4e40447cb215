package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"telex/agent"
)

// nameFor returns the name of a server's tool for models. The name depends only on the arguments, so it never changes. If the
// server's name for the tool contains invalid characters or is too long, nameFor appends a hash of the original name, so that
// no two tools get the same name.
func nameFor(server, tool string) string {
	name := agent.SafeName(server + "_" + tool)
	if name == server+"_"+tool {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), agent.MaxToolName-len(hash))] + hash
}
