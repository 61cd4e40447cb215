// Package slack connects telex to Slack.
package slack
