package config

import "time"

// These values say what a message does that arrives during a turn.
const (
	BusyInterrupt = "interrupt" // the message stops the running turn; in groups only if the same person asked
	BusyQueue     = "queue"     // the message waits
	BusySteer     = "steer"     // the message is added to the running turn
)

// These values say what happens if the question is edited while it is answered.
const (
	EditRestart = "restart" // the answer begins anew in the same message
	EditIgnore  = "ignore"
)

// Conversations configures conversations and their storage.
type Conversations struct {
	Busy          string        `yaml:"busy" enum:"interrupt|queue|steer"`
	MaxQueued     int           `yaml:"max_queued" min:"1" max:"1000"` // maximum number of waiting messages per conversation
	FollowThreads bool          `yaml:"follow_threads"`                // no mention is needed in threads and chains of replies with the bot
	OnEdit        string        `yaml:"on_edit" enum:"restart|ignore"` // effect of editing the question while it is answered
	MaxAge        time.Duration `yaml:"max_age"`                       // at a restart, older accepted messages are answered with a note
	Retention     time.Duration `yaml:"retention" allow:"zero"`        // older history is deleted; 0: never
	Overrides     []Override    `yaml:"overrides"`
}

// Override changes the model, the prompt or the tools of some conversations.
type Override struct {
	Match        Pattern  `yaml:"match" required:"true"`
	Model        string   `yaml:"model"`
	SystemPrompt string   `yaml:"system_prompt"`
	Tools        []string `yaml:"tools"`
}
