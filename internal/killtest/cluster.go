package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"telex/internal/outside"
	"telex/internal/store/pgserver"
	"telex/standin/discord"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
)

// clusterCommand is the argument that selects the test with several daemons on one database.
const clusterCommand = "cluster"

// clusterConfig is the configuration of all daemons.
const clusterConfig = `
models: [{name: standin, base_url: "%s/v1", api_key: "%s", model: standin, headers: {%s: "${REPLICA}"}}]
access: {default: allow, limits: {turns_per_minute: 0}}
streaming: {enabled: true}
conversations: {busy: queue}
agent: {context: false, system_prompt: "You are a bot that is killed now and then."}
platforms:
  telegram: {token: "%s", api_base: "%s"}
  discord: {token: "%s", api_base: "%s", message_content: true}
  slack: {bot_token: "%s", app_token: "%s", api_base: "%s/api/"}
store: {dsn: "%s"}
admin: {listen: "${ADMIN}"}
log: {format: json}
`

// clusterOptions set the number of people and of daemons, the length of the test, and the faults during the test.
type clusterOptions struct {
	binary   string
	replicas int
	chats    int
	length   time.Duration
	every    time.Duration // in each period of this length, one daemon is killed and another is paused with SIGSTOP
	think    time.Duration // mean pause between two questions of a person
	seed     uint64
	only     string // the only platform on which people write; "": all platforms
	rolling  bool   // kill no daemon; instead, restart one daemon after the other gracefully
}

// cluster consists of several daemons with one configuration on one database, and of people who talk to them.
type cluster struct {
	clusterOptions
	out      io.Writer
	dir      string
	world    *outside.World
	discord  *discord.Server
	slack    *slack.Server
	database *pgserver.Server
	name     string // name of the database
	replicas []*replica
	talks    []*talk

	mu     sync.Mutex // guards events and out
	events []event
}

// runCluster parses the arguments, runs the daemons, and prints what answers people got.
func runCluster(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("killtest "+clusterCommand, flag.ContinueOnError)
	var (
		o       clusterOptions
		minutes = flags.Float64("minutes", 20, "how long people talk")
		file    = flags.String("json", "", "write the results to this file, too")
	)
	flags.StringVar(&o.binary, "binary", "bin/telex", "the telex to run")
	flags.IntVar(&o.replicas, "replicas", 3, "how many daemons share the database")
	flags.IntVar(&o.chats, "chats", 300, "how many people talk, each in a chat")
	flags.DurationVar(&o.every, "every", time.Minute, "kill one daemon and stop another one by SIGSTOP, for a third of this time, in each of these spans")
	flags.DurationVar(&o.think, "think", time.Minute, "the mean pause between two questions of a person")
	flags.Uint64Var(&o.seed, "seed", 1, "draws the questions and the moments")
	flags.StringVar(&o.only, "only", "", "let all people talk on this platform: telegram, discord or slack")
	flags.BoolVar(&o.rolling, "rolling", false, "kill nothing: restart all daemons in order, one after the other, in each of these spans but the first")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "telegram", "discord", "slack"}, o.only) {
		return fmt.Errorf("-only %s: %w", o.only, errNoPlatform)
	}
	o.length = time.Duration(*minutes * float64(time.Minute))
	var err error
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	r, err := o.run(ctx, out)
	if err != nil {
		return err
	}
	r.print(out)
	if *file != "" {
		if err := outside.WriteJSON(*file, r); err != nil {
			return err
		}
	}
	if r.bad() {
		return errViolated
	}
	return nil
}

// run starts everything, lets people talk, and checks what they see.
func (o clusterOptions) run(ctx context.Context, out io.Writer) (r clusterResult, err error) {
	c := &cluster{clusterOptions: o, out: out}
	if c.dir, err = os.MkdirTemp("", "telex-cluster-"); err != nil {
		return r, err
	}
	defer func() {
		if err != nil || r.bad() {
			fmt.Fprintln(out, "the logs, and the calls to Telegram, are in", c.dir)
			return
		}
		err = os.RemoveAll(c.dir)
	}()
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.begin(ctx); err != nil {
		return r, err
	}
	if err := c.greet(ctx); err != nil {
		return r, err
	}
	if err := c.talk(ctx); err != nil {
		return r, err
	}
	return c.judge(ctx)
}

// begin starts the stand-ins, the database and the daemons.
func (c *cluster) begin(ctx context.Context) (err error) {
	c.world, err = outside.NewWorld(ctx, telegram.Options{Latency: latency}, openai.Options{Key: modelKey, Seed: c.seed})
	if err != nil {
		return err
	}
	c.discord = discord.New(discord.Options{Latency: latency, MessageContent: true})
	c.slack = slack.New(slack.Options{Latency: latency}) //nolint:contextcheck // the stand-in's deliveries need no context
	discordURL, err := c.world.Serve(ctx, c.discord)
	if err != nil {
		return err
	}
	slackURL, err := c.world.Serve(ctx, c.slack)
	if err != nil {
		return err
	}
	if c.database, err = pgserver.Start(ctx, pgserver.Options{Durable: true}); err != nil {
		return err
	}
	var dsn string
	if c.name, dsn, err = c.database.Create(ctx, ""); err != nil {
		return err
	}
	config := filepath.Join(c.dir, "config.yaml")
	text := fmt.Sprintf(clusterConfig, c.world.ModelURL, modelKey, replicaHeader, c.world.Telegram.Token(), c.world.TelegramURL,
		c.discord.Token(), discordURL, c.slack.BotToken(), c.slack.AppToken(), slackURL, dsn)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	for i := range c.clusterOptions.replicas {
		r, err := newReplica(ctx, c.dir, c.binary, config, i)
		if err != nil {
			return err
		}
		if err := r.start(); err != nil {
			return err
		}
		c.replicas = append(c.replicas, r)
	}
	for _, r := range c.replicas {
		if err := r.awaitReady(ctx); err != nil {
			return err
		}
	}
	for i, p := range c.places(c.chats) {
		t, err := newTalk(p, firstChat+i, seeded(c.seed, "talk", i), c.world.Model)
		if err != nil {
			return err
		}
		c.talks = append(c.talks, t)
	}
	return nil
}

// greet lets one person on each platform ask a question, and waits for the answers. Before the first message, no daemon
// has a position from which it could continue to receive. Without greet, a message that people write before a daemon
// connects would count as too old, and telex would not read it.
func (c *cluster) greet(ctx context.Context) error {
	connected, err := await(ctx, startPatience, nil, func() bool {
		return c.discord.Stats().Identifies > 0 && c.slack.Sockets() == len(c.replicas)
	})
	if err != nil || !connected {
		return errors.Join(err, fmt.Errorf("the daemons are not connected: %d identifies on Discord, %d sockets on Slack", c.discord.Stats().Identifies, c.slack.Sockets()))
	}
	greeted := make(map[string]*talk)
	for _, t := range c.talks {
		if name := t.place.name(); greeted[name] == nil {
			greeted[name] = t
			if err := t.ask(); err != nil {
				return err
			}
		}
	}
	for name, t := range greeted {
		if ok, err := await(ctx, finalPatience, nil, t.complete); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("no answer on %s: %s", name, t.judge(t.place.posts()).What))
		}
	}
	return nil
}

// close stops everything that still runs.
func (c *cluster) close() (err error) {
	for _, r := range c.replicas {
		if r.process != nil {
			r.process.Kill()
		}
	}
	if c.database != nil {
		err = c.database.Close()
	}
	if c.world != nil {
		err = errors.Join(err, c.world.Close())
	}
	return err
}

// talk lets people write for the configured time while faults happen. At the end, talk waits until all answers are
// complete.
func (c *cluster) talk(ctx context.Context) error {
	until, cancel := context.WithTimeout(ctx, c.length)
	defer cancel()
	group, until := errgroup.WithContext(until)
	for _, t := range c.talks {
		group.Go(func() error { return t.run(until, c.think) })
	}
	random := seeded(c.seed, "trouble", 0)
	if c.rolling {
		group.Go(func() error { return c.restartDaemons(until) })
	} else {
		group.Go(func() error { return c.troubleDaemons(until, random) })
		group.Go(func() error { return c.troubleDatabase(until) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	began := time.Now()
	done := 0
	_, err := await(ctx, finalPatience, nil, func() bool {
		for done < len(c.talks) && c.talks[done].complete() {
			done++
		}
		if done < len(c.talks) {
			_ = outside.Pause(ctx, 200*time.Millisecond) // ignore the error: await notices the end of ctx
		}
		return done == len(c.talks)
	})
	c.note("", fmt.Sprintf("the last answers were complete %.1f s after the last questions", time.Since(began).Seconds()))
	return err
}

// event is a fault or a restart of a daemon or of the database.
type event struct {
	At      time.Time `json:"at"`
	Replica string    `json:"replica,omitempty"`
	What    string    `json:"what"`
}

const (
	killed    = "killed"
	paused    = "stopped by SIGSTOP"
	restarted = "restarted in order"
	// A daemon that loses its lease must continue as a new replica. So if a daemon ends without having received a signal, the test
	// counts this as a fault.
	endedItself     = "ended by itself"
	databaseStopped = "the database is stopped"
	databaseKilled  = "the database is killed"
)

// fault reports whether the event is a fault, which may interrupt growing answers. A graceful restart is not a fault.
func (e event) fault() bool {
	return slices.Contains([]string{killed, paused, endedItself, databaseStopped, databaseKilled}, e.What)
}

// note records an event and prints it.
func (c *cluster) note(replica, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, event{time.Now(), replica, what})
	fmt.Fprintf(c.out, "%s %s %s\n", time.Now().Format("15:04:05.0"), replica, what)
}

// troubleDaemons kills one daemon and pauses another one in each period, until ctx ends.
func (c *cluster) troubleDaemons(ctx context.Context, random *rand.Rand) error {
	for began := time.Now(); ; began = began.Add(c.every) {
		if outside.Pause(ctx, time.Until(began.Add(c.every/12+upTo(random, c.every/12)))) != nil {
			return nil
		}
		victim := pick(random, c.replicas, nil)
		c.note(victim.name, killed)
		if err := victim.kill(ctx, 2*time.Second); err != nil {
			return err
		}
		if outside.Pause(ctx, time.Until(began.Add(c.every/3+upTo(random, c.every/12)))) != nil {
			return nil
		}
		other := pick(random, c.replicas, victim)
		c.note(other.name, paused)
		if err := other.freeze(ctx, c.every/3); err != nil {
			return err
		}
		c.note(other.name, "goes on")
		if outside.Pause(ctx, time.Until(began.Add(c.every))) != nil {
			return nil
		}
		if err := c.revive(); err != nil {
			return err
		}
	}
}

// revive starts daemons that have ended by themselves, as a service manager does.
func (c *cluster) revive() error {
	for _, r := range c.replicas {
		if r.alive() {
			continue
		}
		c.note(r.name, endedItself)
		if err := r.start(); err != nil {
			return err
		}
	}
	return nil
}

// troubleDatabase restarts the database twice: first after an orderly stop, then after a kill.
func (c *cluster) troubleDatabase(ctx context.Context) error {
	for _, end := range []struct {
		what string
		do   func() error
	}{{databaseStopped, c.database.Stop}, {databaseKilled, c.database.Kill}} {
		if outside.Pause(ctx, c.length*3/10) != nil {
			return nil
		}
		c.note("", end.what)
		if err := end.do(); err != nil {
			return err
		}
		_ = outside.Pause(ctx, 2*time.Second) // if ctx ends, restart the database at once, because it must run at the end of the test
		if err := c.database.Restart(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		c.note("", "the database is back")
	}
	return nil
}

// restartDaemons restarts all daemons gracefully once in each period, until ctx ends. In the first period, restartDaemons
// restarts no daemon, so that the test can compare how replies grow with and without restarts.
func (c *cluster) restartDaemons(ctx context.Context) error {
	if outside.Pause(ctx, c.every) != nil {
		return nil
	}
	for began := time.Now(); ; began = began.Add(c.every) {
		if outside.Pause(ctx, time.Until(began.Add(c.every/4))) != nil {
			return nil
		}
		for _, r := range c.replicas {
			c.note(r.name, restarted)
			if err := r.restart(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			c.note(r.name, "is ready")
		}
		if outside.Pause(ctx, time.Until(began.Add(c.every))) != nil {
			return nil
		}
	}
}
