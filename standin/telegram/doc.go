// Package telegram is a strict local imitation of the Telegram Bot API.
package telegram
