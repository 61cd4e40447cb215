package access

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"telex/internal/chat"
)

// Store stores pairing requests, admissions and moves of chats.
type Store interface {
	Requests
	Admissions
	Moves
}

// Requests stores the pairing requests of people who ask for access.
type Requests interface {
	// PairingRequests returns all pairing requests, oldest first, including expired ones.
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
	// SavePairingRequest stores a request, replacing the person's earlier one. SavePairingRequest fails with
	// chat.ErrManyRequests if too many other requests are open. Other processes may have stored pairing requests that
	// this process has not read yet.
	SavePairingRequest(ctx context.Context, k chat.PairingRequest) error
}

// Admissions stores which people got access through pairing.
type Admissions interface {
	// Admit stores an admission, replacing the person's earlier one, and deletes the person's pairing request.
	Admit(ctx context.Context, a chat.Admission) error
	// Admitted returns all admissions, oldest first.
	Admitted(ctx context.Context) ([]chat.Admission, error)
	// Revoke deletes the admission of a person, and reports whether the admission existed.
	Revoke(ctx context.Context, p chat.Person) (bool, error)
}

// Moves stores which chats have got a new id.
type Moves interface {
	// Moves returns the chats that have new ids, with the newest id of each.
	Moves(ctx context.Context) ([]chat.Move, error)
}

// maxName is the maximum length of a name that a stranger chose, in characters.
const maxName = 64

// Policy.Approve returns ErrCode, and Policy.Revoke returns ErrNobody.
var (
	ErrCode   = errors.New("the code is unknown or has expired")
	ErrNobody = errors.New("nobody with this id got access by a code")
)

// stored holds the same Store several times, once as each interface that Store embeds.
type stored struct {
	requests   Requests
	admissions Admissions
	moves      Moves
}

// Policy decides who may talk to the bot. The store holds the admissions, pairing requests and moved chats. The
// Policy keeps a copy of the stored data in memory, because it checks every message.
type Policy struct {
	rules  atomic.Pointer[Rules]
	stored stored
	log    *slog.Logger

	mu       sync.Mutex
	changes  int                   // number of changes that this process has made
	requests []chat.PairingRequest // oldest first
	admitted map[chat.Person]chat.Admission
	moved    map[chatKey]chat.ChatID // current id of each chat whose id has changed, by its earlier ids
}

// NewPolicy returns a policy with only the configured rules. The method Load reads the stored admissions, pairing
// requests and moves.
func NewPolicy(r Rules, s Store, log *slog.Logger) *Policy {
	d := &Policy{stored: stored{s, s, s}, log: log, admitted: make(map[chat.Person]chat.Admission), moved: make(map[chatKey]chat.ChatID)}
	d.SetRules(r)
	return d
}

// Load reads admissions, pairing requests and moves from the store. Load must be called regularly, because other
// processes may change the admissions, requests and moves in the store.
func (d *Policy) Load(ctx context.Context) error {
	for {
		changes := d.changeCount()
		admitted, err := d.stored.admissions.Admitted(ctx)
		if err != nil {
			return fmt.Errorf("read admissions: %w", err)
		}
		requests, err := d.stored.requests.PairingRequests(ctx)
		if err != nil {
			return fmt.Errorf("read pairing requests: %w", err)
		}
		moves, err := d.stored.moves.Moves(ctx)
		if err != nil {
			return fmt.Errorf("read moved chats: %w", err)
		}
		if d.replace(changes, admitted, requests, moves) {
			return nil
		}
	}
}

// changeCount returns how often this process has changed the admissions, pairing requests or moves.
func (d *Policy) changeCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// replace applies the state that was read from the store. The parameter changes is the number that changeCount returned
// before the state was read. If this process has made a change since that call of changeCount, replace applies nothing
// and returns false: the state may lack that change.
func (d *Policy) replace(changes int, admitted []chat.Admission, requests []chat.PairingRequest, moves []chat.Move) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changes != changes {
		return false
	}
	clear(d.admitted)
	for _, a := range admitted {
		d.admitted[a.Person] = a
	}
	d.requests = requests
	clear(d.moved)
	for _, m := range moves {
		d.moved[chatKey{m.Endpoint, m.From}] = m.To
	}
	return true
}

// Rules returns the configured rules.
func (d *Policy) Rules() Rules { return *d.rules.Load() }

// SetRules replaces the configured rules.
func (d *Policy) SetRules(r Rules) { d.rules.Store(&r) }

// Allows reports whether the bot may answer messages of the user u in the conversation c.
func (d *Policy) Allows(c chat.Conversation, u chat.UserID) bool {
	if d.Rules().allows(c, func(rule Rule) bool { return d.Matches(rule, c, u) }) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.admitted[chat.Person{Endpoint: c.Endpoint, User: u}]
	return ok
}

// NeedsCode reports whether a person without access must be sent a pairing code now. If NeedsCode returns true, it
// has opened a pairing request, whose code the method Code returns. While a code is valid, NeedsCode returns true
// only once per person, so that the bot does not answer the person's further messages.
func (d *Policy) NeedsCode(p chat.Person, name string) bool {
	if !d.Rules().Pair {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	waiting := 0
	for _, k := range d.requests {
		if k.Person == p {
			return false
		}
		if k.Endpoint == p.Endpoint {
			waiting++
		}
	}
	if waiting >= chat.MaxPairingRequests {
		return false
	}
	d.changes++
	d.requests = append(d.requests, chat.PairingRequest{Person: p, Name: printable(name), Code: newCode(), At: time.Now()})
	return true
}

// Withdraw deletes the pairing request of a person to whom the bot could not send the code.
func (d *Policy) Withdraw(p chat.Person) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	d.forget(p)
}

// Code stores the pairing request of a person and returns its code. If an earlier process ended before storing
// the request, Code creates a new one.
func (d *Policy) Code(ctx context.Context, p chat.Person, name string) (string, error) {
	k := d.open(p, name)
	if err := d.stored.requests.SavePairingRequest(ctx, k); err != nil {
		d.Withdraw(p)
		return "", fmt.Errorf("store code: %w", err)
	}
	d.log.Info("a person without access was given a pairing code", slog.String("person", p.String()))
	return k.Code, nil
}

// open returns the pairing request of a person. If the person has no request, the method open creates one.
func (d *Policy) open(p chat.Person, name string) chat.PairingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	d.expire()
	i := slices.IndexFunc(d.requests, func(k chat.PairingRequest) bool { return k.Person == p })
	if i < 0 {
		i = len(d.requests)
		d.requests = append(d.requests, chat.PairingRequest{Person: p, Name: printable(name), Code: newCode(), At: time.Now()})
	}
	return d.requests[i]
}

// PairingRequests returns the open pairing requests, oldest first.
func (d *Policy) PairingRequests() []chat.PairingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	return slices.Clone(d.requests)
}

// Admitted returns the people who got access through pairing, oldest first.
func (d *Policy) Admitted() []chat.Admission {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []chat.Admission
	for _, a := range d.admitted {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b chat.Admission) int { return a.At.Compare(b.At) })
	return out
}

// Approve durably grants access to the person with the code. Approve fails with ErrCode if no open request has this
// code. The parameter by identifies the person who approves the request.
func (d *Policy) Approve(ctx context.Context, code, by string) (chat.Admission, error) {
	k, found := d.requestOf(code)
	if !found {
		return chat.Admission{}, ErrCode
	}
	a := chat.Admission{Person: k.Person, Name: k.Name, By: by, At: time.Now()}
	if err := d.stored.admissions.Admit(ctx, a); err != nil {
		return chat.Admission{}, fmt.Errorf("store admission: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	d.forget(k.Person)
	d.admitted[a.Person] = a
	d.log.Info("access granted", slog.String("person", a.String()), slog.String("by", by))
	return a, nil
}

// requestOf returns the open pairing request with the given code.
func (d *Policy) requestOf(code string) (chat.PairingRequest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	code = strings.ToUpper(strings.TrimSpace(code))
	i := slices.IndexFunc(d.requests, func(k chat.PairingRequest) bool { return k.Code == code })
	if i < 0 {
		return chat.PairingRequest{}, false
	}
	return d.requests[i], true
}

// Revoke deletes the admission of a person. Revoke fails with ErrNobody if the person was not admitted through
// pairing. Access that the configuration grants must be removed in the configuration.
func (d *Policy) Revoke(ctx context.Context, p chat.Person, by string) error {
	found, err := d.stored.admissions.Revoke(ctx, p)
	if err != nil {
		return fmt.Errorf("store revocation: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	delete(d.admitted, p)
	if !found {
		return ErrNobody
	}
	d.log.Info("access revoked", slog.String("person", p.String()), slog.String("by", by))
	return nil
}

// expire removes expired requests. If the clock was set back, the time of a request may lie in the future. expire keeps
// such a request if its time is less than chat.PairingLife in the future.
func (d *Policy) expire() {
	now := time.Now()
	d.requests = slices.DeleteFunc(d.requests, func(k chat.PairingRequest) bool {
		age := now.Sub(k.At)
		return age >= chat.PairingLife || age <= -chat.PairingLife
	})
}

func (d *Policy) forget(p chat.Person) {
	d.requests = slices.DeleteFunc(d.requests, func(k chat.PairingRequest) bool { return k.Person == p })
}

// codeAlphabet is Crockford's alphabet, which avoids characters that look alike
// (https://www.crockford.com/base32.html).
const codeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newCode returns a pairing code of 8 random characters. A pairing code has 40 random bits, so nobody can guess it in
// the hour for which it is valid.
func newCode() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return base32.NewEncoding(codeAlphabet).EncodeToString(b[:])
}

// printable cleans and shortens a name that a stranger chose, so that it fits into one line.
func printable(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > maxName {
			break
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
