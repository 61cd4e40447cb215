// Package discord connects telex to Discord.
package discord
