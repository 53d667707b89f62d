// Package ext adds nothing to Traefik's configuration, as the one of its own repository, which is not published as a module.
package ext

type HTTP struct{}

type Router struct{}
