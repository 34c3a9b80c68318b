package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard decides who may ask.
type guard struct {
	token [sha256.Size]byte
	asks  bool
	any   bool     // names of the host
	hosts []string // lower case
}

func newGuard(o *Options) guard {
	g := guard{token: sha256.Sum256([]byte(o.Token)), asks: o.Token != "", any: o.Public || o.Token != ""}
	for _, h := range o.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g
}

// check refuses a request that has no right. A name in the Host header that is not of this machine is one that somebody has made to
// lead here, for a page in a browser of this machine.
func (g *guard) check(r *http.Request) error {
	if !g.any && !g.names(r.Host) {
		return &statusError{http.StatusMisdirectedRequest, "the server does not accept this host name"}
	}
	if !g.asks || r.Method == http.MethodOptions {
		return nil
	}
	if !g.knows(r) {
		return &statusError{http.StatusUnauthorized, "a token is required: Authorization: Bearer TOKEN, or TOKEN as the password of any user"}
	}
	return nil
}

// knows reports whether the token is there. It takes the same time for any wrong one.
func (g *guard) knows(r *http.Request) bool {
	got, ok := "", false
	auth := r.Header.Get("Authorization")
	if scheme, rest, has := strings.Cut(auth, " "); has && strings.EqualFold(scheme, "Bearer") {
		got, ok = strings.TrimSpace(rest), true
	} else if _, p, is := r.BasicAuth(); is {
		got, ok = p, true
	}
	sum := sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && ok
}

// names reports whether a Host header is a name of this machine, or one that was given.
func (g *guard) names(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return host == "localhost" || isLoopback(host) || slices.Contains(g.hosts, host)
}

// isLoopback reports whether an address is of this machine alone.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
