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
	"time"
	"unicode"

	"telex/internal/chat"
)

// Store keeps who may talk to the bot.
type Store interface {
	Requests
	Admissions
	Moves
}

// Requests keeps who asked to be let in.
type Requests interface {
	// PairingRequests returns everybody who was given a code, oldest first, however long ago.
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
	// SavePairingRequest stores a code in place of the one that the person was given before.
	SavePairingRequest(ctx context.Context, k chat.PairingRequest) error
}

// Admissions keeps who was let in.
type Admissions interface {
	// Admit stores that a person is let in, in place of what was stored of them, and deletes their
	// code.
	Admit(ctx context.Context, a chat.Admission) error
	// Admitted returns everybody who was let in, oldest first.
	Admitted(ctx context.Context) ([]chat.Admission, error)
	// Revoke deletes the admission of a person, and reports whether there was one.
	Revoke(ctx context.Context, p chat.Person) (bool, error)
}

// Moves keeps which chats have new ids.
type Moves interface {
	// Moves returns which chats have new ids: the newest id of each.
	Moves(ctx context.Context) ([]chat.Move, error)
}

const (
	// codeLife is how long a code is valid.
	codeLife = time.Hour
	// maxRequests is how many people of one endpoint may have a code at a time: strangers can't
	// fill the list, and an operator can read it.
	maxRequests = 3
	// mostName bounds a name that a stranger chose, in characters.
	mostName = 64
)

// Why approving or revoking fails.
var (
	ErrCode   = errors.New("there is no such code, or it is not valid any more")
	ErrNobody = errors.New("nobody with this id was let in by a code")
)

// stored is the parts of a Store.
type stored struct {
	asked      Requests
	admissions Admissions
	moves      Moves
}

// Policy decides who may talk to the bot. Its state is the store's; it holds a copy, since every message asks it.
type Policy struct {
	rules  Rules
	stored stored
	log    *slog.Logger

	mu       sync.Mutex
	requests []chat.PairingRequest // oldest first
	admitted map[chat.Person]chat.Admission
	moved    map[place]chat.ChatID // where chats are now that had another id
}

// NewPolicy returns a policy that knows only the rules of the configuration. Load reads the rest.
func NewPolicy(r Rules, s Store, log *slog.Logger) *Policy {
	return &Policy{rules: r, stored: stored{s, s, s}, log: log, admitted: make(map[chat.Person]chat.Admission), moved: make(map[place]chat.ChatID)}
}

// Load reads who was let in before.
func (d *Policy) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	admitted, err := d.stored.admissions.Admitted(ctx)
	if err != nil {
		return fmt.Errorf("read who was let in: %w", err)
	}
	requests, err := d.stored.asked.PairingRequests(ctx)
	if err != nil {
		return fmt.Errorf("read who waits: %w", err)
	}
	moves, err := d.stored.moves.Moves(ctx)
	if err != nil {
		return fmt.Errorf("read which chats have new ids: %w", err)
	}
	for _, a := range admitted {
		d.admitted[a.Person] = a
	}
	d.requests = requests
	for _, m := range moves {
		d.moved[place{m.Endpoint, m.From}] = m.To
	}
	return nil
}

// Rules returns what the configuration says.
func (d *Policy) Rules() Rules { return d.rules }

// Allows says whether a message of u in c may be answered.
func (d *Policy) Allows(c chat.Conversation, u chat.UserID) bool {
	if d.rules.allows(c, func(rule Rule) bool { return d.Matches(rule, c, u) }) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.admitted[chat.Person{Endpoint: c.Endpoint, User: u}]
	return ok
}

// NeedsCode reports whether a person who is not let in must be given a code now, which Code then
// does. It does so once in a code's life: a person who writes again has been answered.
func (d *Policy) NeedsCode(p chat.Person, name string) bool {
	if !d.rules.Pair {
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
	if waiting >= maxRequests {
		return false
	}
	d.requests = append(d.requests, chat.PairingRequest{Person: p, Name: printable(name), Code: newCode(), At: time.Now()})
	return true
}

// Withdraw deletes the request of a person who was not answered.
func (d *Policy) Withdraw(p chat.Person) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(p)
}

// Code returns the code of a person who asked for access, once it is stored. A process that ended before
// that has given none: then a new one is made.
func (d *Policy) Code(ctx context.Context, p chat.Person, name string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	i := slices.IndexFunc(d.requests, func(k chat.PairingRequest) bool { return k.Person == p })
	if i < 0 {
		i = len(d.requests)
		d.requests = append(d.requests, chat.PairingRequest{Person: p, Name: printable(name), Code: newCode(), At: time.Now()})
	}
	if err := d.stored.asked.SavePairingRequest(ctx, d.requests[i]); err != nil {
		d.forget(p)
		return "", fmt.Errorf("store code: %w", err)
	}
	d.log.Info("somebody who is not let in was given a code", slog.String("person", p.String()))
	return d.requests[i].Code, nil
}

// PairingRequests returns who has a valid code, oldest first.
func (d *Policy) PairingRequests() []chat.PairingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	return slices.Clone(d.requests)
}

// Admitted returns who was let in by a code, oldest first.
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

// Approve lets in the person who was given a code, durably. It fails with ErrCode when nobody has
// it. by says who decided.
func (d *Policy) Approve(ctx context.Context, code, by string) (chat.Admission, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	code = strings.ToUpper(strings.TrimSpace(code))
	i := slices.IndexFunc(d.requests, func(k chat.PairingRequest) bool { return k.Code == code })
	if i < 0 {
		return chat.Admission{}, ErrCode
	}
	k := d.requests[i]
	a := chat.Admission{Person: k.Person, Name: k.Name, By: by, At: time.Now()}
	if err := d.stored.admissions.Admit(ctx, a); err != nil {
		return chat.Admission{}, fmt.Errorf("store admission: %w", err)
	}
	d.forget(k.Person)
	d.admitted[a.Person] = a
	d.log.Info("somebody was let in", slog.String("person", a.String()), slog.String("by", by))
	return a, nil
}

// Revoke ends the admission of a person. It fails with ErrNobody if the store has no such admission:
// people whom the configuration lists are removed there.
func (d *Policy) Revoke(ctx context.Context, p chat.Person, by string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, err := d.stored.admissions.Revoke(ctx, p)
	if err != nil {
		return fmt.Errorf("store revocation: %w", err)
	}
	delete(d.admitted, p)
	if !found {
		return ErrNobody
	}
	d.log.Info("somebody is not let in any more", slog.String("person", p.String()), slog.String("by", by))
	return nil
}

// expire forgets codes that are not valid any more. One that seems to come from the future was
// made before the clock was set back: it is valid as long as it would have been from now on.
func (d *Policy) expire() {
	now := time.Now()
	d.requests = slices.DeleteFunc(d.requests, func(k chat.PairingRequest) bool {
		age := now.Sub(k.At)
		return age >= codeLife || age <= -codeLife
	})
}

func (d *Policy) forget(p chat.Person) {
	d.requests = slices.DeleteFunc(d.requests, func(k chat.PairingRequest) bool { return k.Person == p })
}

// codes is Crockford's alphabet, in which no two characters look alike
// (https://www.crockford.com/base32.html).
const codes = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newCode returns 8 characters that nobody can guess within an hour: 40 bits.
func newCode() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return base32.NewEncoding(codes).EncodeToString(b[:])
}

// printable bounds a name that a stranger chose to what one line can show.
func printable(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > mostName {
			break
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
