// Package salvage saves datasets of SCR from the caches of nodes after a run died.
package salvage
