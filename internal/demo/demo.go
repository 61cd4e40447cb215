package demo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"telex/internal/outside"
	"telex/standin/discord"
	"telex/standin/homeassistant"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
	"telex/standin/whatsapp"
)

// Options are the settings of the demo.
type Options struct {
	Program string        // the binary whose command "run" is the daemon
	Listen  string        // address of the page; empty: a free port
	Rate    float64       // tokens per second of the stand-in models
	Latency time.Duration // latency of each call to a platform
	Model   RealModel     // a real model that replaces the first stand-in; if BaseURL is empty, the stand-in answers
	Log     *slog.Logger
}

// RealModel is a model provider that the person who runs the demo has chosen.
type RealModel struct {
	BaseURL string // includes the version, such as https://api.openai.com/v1
	Name    string
	KeyName string // name of the environment variable with the key; empty: no key is needed
}

// demoKey is the API key of the models' stand-ins. The key is not a secret.
const demoKey = "demo"

// demo contains all running parts of the demo.
type demo struct {
	o        Options
	dir      string // directory with the configuration, the state and the log
	telegram *telegram.Server
	discord  *discord.Server
	slack    *slack.Server
	whatsapp *whatsapp.Server
	house    *homeassistant.Server
	models   [2]*openai.Server // if a real model replaces the first stand-in, the first server is unused
	gates    [2]*gate          // proxies in front of the models
	program  *program          // the program that uses the API server
	daemon   *daemon
	columns  []*column

	mu    sync.Mutex
	asked int
	pulse *pulse
	serve sync.WaitGroup
	close []func() error // functions that stop the stand-ins, in the order in which the stand-ins were started
}

// Run starts everything, calls the function ready with the address of the page, and stops everything when ctx ends.
func Run(ctx context.Context, o Options, ready func(url string)) (err error) {
	dir, err := os.MkdirTemp("", "telex-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demo{o: o, dir: dir, pulse: newPulse()}
	defer func() { err = errors.Join(err, d.end()) }()
	if err := d.begin(ctx); err != nil {
		return err
	}
	url, err := d.servePage(ctx)
	if err != nil {
		return err
	}
	if err := d.daemon.start(ctx); err != nil {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	d.serve.Go(func() { d.daemon.keep(work) })
	d.watch(work)
	ready(url)
	<-ctx.Done()
	return nil
}

// begin starts the stand-ins and writes the daemon's configuration.
func (d *demo) begin(ctx context.Context) error {
	var ports [3]string // ports of the daemon's servers
	for i := range ports {
		var err error
		if ports[i], err = outside.FreeAddress(ctx); err != nil {
			return err
		}
	}
	api, admin, webhook := ports[0], ports[1], ports[2]
	o := d.o
	d.telegram = telegram.New(telegram.Options{Latency: o.Latency, GrowingIDs: true, Log: o.Log})
	d.discord = discord.New(discord.Options{Latency: o.Latency, Log: o.Log})
	d.slack = slack.New(slack.Options{Latency: o.Latency, Agent: true, Log: o.Log})                                     //nolint:contextcheck // deliveries must not end with ctx
	d.whatsapp = whatsapp.New(whatsapp.Options{Latency: o.Latency, CallbackURL: "http://" + webhook + "/", Log: o.Log}) //nolint:contextcheck // the same
	d.house = homeassistant.New(homeassistant.Options{Latency: o.Latency, Log: o.Log})
	for i := range d.models {
		d.models[i] = openai.New(openai.Options{Key: demoKey, Rate: o.Rate, Models: []string{"*"}, Log: o.Log})
		if err := teach(d.models[i]); err != nil {
			return err
		}
	}
	urls := make(map[string]string)
	for _, s := range []struct {
		name string
		server
	}{
		{"telegram", d.telegram},
		{"discord", d.discord},
		{"slack", d.slack},
		{"whatsapp", d.whatsapp},
		{"house", d.house},
		{"first", d.models[0]},
		{"second", d.models[1]},
	} {
		url, err := d.listen(ctx, s.server)
		if err != nil {
			return err
		}
		urls[s.name] = url
	}
	for i, target := range []string{urls["first"], urls["second"]} {
		if i == 0 && o.Model.BaseURL != "" {
			target = o.Model.BaseURL
		} else {
			target += "/v1"
		}
		g, err := newGate(target)
		if err != nil {
			return err
		}
		d.gates[i] = g
		if urls[fmt.Sprint("gate", i)], err = d.listen(ctx, &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}); err != nil {
			return err
		}
	}
	file := filepath.Join(d.dir, "config.yaml")
	if err := os.WriteFile(file, d.config(urls, api, admin, webhook), 0o600); err != nil {
		return err
	}
	d.program = newProgram("http://"+api, d.pulse)
	d.daemon = newDaemon(o.Program, d.dir, file, "http://"+admin, o.Log, d.pulse)
	d.columns = d.newColumns()
	return nil
}

// server is the interface of a stand-in.
type server interface {
	Serve(l net.Listener) error
	Close() error
}

// listen starts the server s on a free port. The server runs until the demo ends.
func (d *demo) listen(ctx context.Context, s server) (url string, err error) {
	return d.listenAt(ctx, s, "127.0.0.1:0")
}

func (d *demo) listenAt(ctx context.Context, s server, address string) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for the demo: %w", err)
	}
	d.close = append(d.close, s.Close)
	d.serve.Go(func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			d.o.Log.Error("a server of the demo ended", slog.Any("error", err))
		}
	})
	return "http://" + l.Addr().String(), nil
}

// end stops the daemon with SIGTERM, and then the stand-ins.
func (d *demo) end() (err error) {
	if d.daemon != nil {
		d.program.close() // end the program's requests first, because the daemon would wait for them
		err = d.daemon.stop()
	}
	for _, stop := range d.close {
		err = errors.Join(err, stop())
	}
	d.serve.Wait()
	return err
}

// watch updates the page whenever a stand-in publishes an event.
func (d *demo) watch(ctx context.Context) {
	watchOne(d, d.telegram.Watch(ctx))
	watchOne(d, d.discord.Watch(ctx))
	watchOne(d, d.slack.Watch(ctx))
	watchOne(d, d.whatsapp.Watch(ctx))
	watchOne(d, d.house.Watch(ctx))
}

func watchOne[E any](d *demo, events iter.Seq[E]) {
	d.serve.Go(func() {
		for range events {
			d.pulse.beat()
		}
	})
}

// teach gives rules to a model's stand-in. According to these rules, the stand-in calls Home Assistant's tools and describes
// attachments.
func teach(m *openai.Server) error {
	for about, do := range map[string]string{
		"kitchen light on":  `say="I can do that. It changes something in the house, so I ask you first." call="ha_call_service {\"domain\":\"light\",\"service\":\"turn_on\",\"entity_id\":\"light.kitchen\"}"`,
		"kitchen light off": `say="I can do that. It changes something in the house, so I ask you first." call="ha_call_service {\"domain\":\"light\",\"service\":\"turn_off\",\"entity_id\":\"light.kitchen\"}"`,
	} {
		if err := m.Rule(openai.Rule{Match: about, Do: do}); err != nil {
			return err
		}
	}
	return nil
}

// config returns the daemon's configuration. The configuration is an ordinary one, except that the addresses are those
// of the stand-ins.
func (d *demo) config(urls map[string]string, api, admin, webhook string) []byte {
	key, name := demoKey, "standin"
	if m := d.o.Model; m.BaseURL != "" {
		key, name = "none", m.Name
		if m.KeyName != "" {
			key = "${" + m.KeyName + "}"
		}
	}
	return fmt.Appendf(nil, `models:
  - {name: first, base_url: %q, api_key: %q, model: %q}
  - {name: second, base_url: %q, api_key: %q, model: standin}
streaming: {enabled: true}
access: {default: allow, limits: {turns_per_minute: 0}}
conversations: {busy: queue}
tools: {enabled: [time, ha_states, ha_call_service]}
platforms:
  telegram: {token: %q, api_base: %q, rich: auto}
  discord: {token: %q, api_base: %q}
  slack: {bot_token: %q, app_token: %q, api_base: %q}
  whatsapp: {access_token: %q, phone_number_id: %q, app_secret: %q, verify_token: %q, listen: %q, api_base: %q}
  homeassistant: {url: %q, token: %q}
  api_server: {listen: %q}
admin: {listen: %q}
shutdown_grace: 3s
log: {level: info, format: text}
`, urls["gate0"], key, name, urls["gate1"], demoKey,
		d.telegram.Token(), urls["telegram"], d.discord.Token(), urls["discord"],
		d.slack.BotToken(), d.slack.AppToken(), urls["slack"]+"/api/",
		d.whatsapp.Token(), whatsapp.PhoneNumberID, d.whatsapp.AppSecret(), d.whatsapp.VerifyToken(), webhook, urls["whatsapp"],
		urls["house"], homeassistant.DefaultToken, api, admin)
}
