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

type guard struct {
	token [sha256.Size]byte
	asks  bool
	any   bool     // accept any host name
	hosts []string // in lower case
}

func newGuard(o *Options) guard {
	g := guard{token: sha256.Sum256([]byte(o.Token)), asks: o.Token != "", any: o.Public || o.Token != ""}
	for _, h := range o.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g
}

// check rejects unauthorized requests. A Host header with another machine's name indicates DNS rebinding: a page in a local
// browser whose host name resolves to this machine.
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

// knows reports whether the request has the token. The comparison takes the same time for every wrong token.
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

// names reports whether a Host header is a name of this machine or a configured name.
func (g *guard) names(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return host == "localhost" || isLoopback(host) || slices.Contains(g.hosts, host)
}

// isLoopback reports whether an address can be reached only from this machine.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
