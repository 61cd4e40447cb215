package config

import "time"

// What happens to a message that arrives during a turn.
const (
	BusyInterrupt = "interrupt" // the running turn ends, in groups only for the asker's own message
	BusyQueue     = "queue"     // the message waits
	BusySteer     = "steer"     // the message is put to the running turn
)

// What happens if the asker edits a question while it is answered.
const (
	EditRestart = "restart" // the answer starts over in the same message
	EditIgnore  = "ignore"
)

// Conversations configures how conversations are stored.
type Conversations struct {
	Busy          string        `yaml:"busy" enum:"interrupt|queue|steer"`
	MaxQueued     int           `yaml:"max_queued" min:"1" max:"1000"` // messages per conversation
	FollowThreads bool          `yaml:"follow_threads"`                // in threads and chains of replies with the bot, no mention is needed
	OnEdit        string        `yaml:"on_edit" enum:"restart|ignore"` // what an edit of the question does while it is answered
	MaxAge        time.Duration `yaml:"max_age"`                       // an accepted message older than this at a restart is answered with a note
	Retention     time.Duration `yaml:"retention" allow:"zero"`        // older history is deleted; 0 keeps
	Overrides     []Override    `yaml:"overrides"`
}

// Override changes the model, the prompt or the tools of some conversations.
type Override struct {
	Match        Pattern  `yaml:"match" required:"true"`
	Model        string   `yaml:"model"`
	SystemPrompt string   `yaml:"system_prompt"`
	Tools        []string `yaml:"tools"`
}
