# The everyday commands; the work is done by the scripts in .ci/.
.DEFAULT_GOAL := help
.PHONY: help console release site run test test-cluster test-extras test-clients build lint format asan tsan gate nightly

help: ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: ## sets up, builds skiffd and serves on 127.0.0.1:7070; prints a token and how to try it
	@.ci/setup && .ci/build skiffd && exec .ci/serve

build: ## sets up and builds the release binaries, build/release/skiffd and build/release/skiff
	@.ci/setup && .ci/build skiffd skiff

console: ## builds the page of `skiff console` with npm; the next `make build` takes it in
	@.ci/console

test: ## sets up and runs the unit and integration tests; T=integration.files runs the entries of that name
	@.ci/test $(if $(T),plain -R '$(T)')

test-cluster: ## the image and the launcher on a real Kubernetes, which it builds first; needs root
	@.ci/test cluster $(if $(T),-R '$(T)')

test-extras: ## the examples in all languages, and the OpenAPI document against the tools of others
	@.ci/test extras

test-clients: ## other systems' clients, and clients that generators make of the API's documents
	@.ci/test clients

asan: ## most tests under AddressSanitizer and UndefinedBehaviorSanitizer, and each fuzz target over its corpus
	@.ci/test asan

tsan: ## unit tests of what has threads under ThreadSanitizer
	@.ci/test tsan

lint: ## formatting, clang-tidy and the rules of the tree
	@.ci/lint

format: ## formats the sources
	@.ci/lint --fix-format

gate: ## everything that must pass before a change is merged
	@.ci/run

release: ## makes what is published, for amd64 and arm64, in build/dist
	@.ci/release

site: ## makes the site of the documents, in build/site
	@.ci/site

nightly: ## what the gate leaves out: each test in each environment, all warnings, long fuzzing
	@.ci/nightly
