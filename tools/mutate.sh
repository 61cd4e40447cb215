#!/bin/sh
# mutate.sh [WORD]: apply the mutations in gateway/sim/testdata/mutations.txt one by one, and check that a test fails each time.
# Each mutation removes a check from the gateway or the agent. The script changes no file in the tree: with `go test -overlay`,
# the compiler reads a changed copy in place of the real file. With WORD, the script applies only mutations with WORD in their name.
# The exit code is 1 if all tests pass in spite of a mutation, if the code with a mutation does not compile, or if a mutation no
# longer fits the code. The script needs Go and perl.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec perl - "$work" "${1:-}" <<'PERL'
use strict;
use warnings;
use Cwd;

my ($work, $only) = @ARGV;
my $list = 'gateway/sim/testdata/mutations.txt';
# Each stage is a command that runs tests. The stages run in this order until a test fails. The first stage is fast and detects most
# mutations. Random tests have fixed seeds, so that each run has the same result.
my @stages = (
	'RAPID_CHECKS=40 RAPID_SEED=1 go test ./gateway/sim',
	"RAPID_SEED=1 go test -skip='^TestRandomSchedules\$' ./gateway ./gateway/access ./gateway/approval ./gateway/budget ./gateway/history ./gateway/preview ./gateway/queue",
	'RAPID_SEED=1 go test ./internal/markup/...',
	'go test -run=^TestMemory$ ./internal/store',
	'RAPID_CHECKS=600 RAPID_SEED=7 go test ./gateway/sim',
);

# parse reads the mutations. Each mutation has a line "= name", a line "@ file", lines of old code that begin with -, and lines
# of new code that begin with +. If a mutation has a line "! packages", the tests of these packages run instead of the stages.
sub parse {
	my (@found, $m);
	open(my $in, '<', $list) or die "$list: $!\n";
	while (my $line = <$in>) {
		if ($line =~ /^= (.+)/) { $m = {name => $1, old => '', new => '', stages => \@stages}; push @found, $m }
		elsif ($line =~ /^@ (.+)/) { $m->{file} = $1 }
		elsif ($line =~ /^! (.+)/) { $m->{stages} = ["RAPID_SEED=1 go test $1"] }
		elsif ($line =~ /^-(.*)/s) { $m->{old} .= $1 }
		elsif ($line =~ /^\+(.*)/s) { $m->{new} .= $1 }
		elsif ($line !~ /^(#.*)?$/) { die "$list:$.: what is this?\n" }
	}
	return @found;
}

sub slurp { local $/; open(my $in, '<', $_[0]) or die "$_[0]: $!\n"; return <$in> }
sub spew { open(my $out, '>', $_[0]) or die "$_[0]: $!\n"; print $out $_[1]; close $out }

# run runs the tests of a stage. If a test fails, run returns the name of the test, or of the subtest that failed. If all tests pass,
# run returns nothing. If no test ran at all, the script ends with an error.
sub run {
	my ($overlay, $stage) = @_;
	(my $command = $stage) =~ s/go test/RAPID_NOFAILFILE=1 RAPID_SHRINKTIME=0s go test $overlay -count=1 -failfast -timeout=2m/;
	return if system("$command >$work/out 2>&1") == 0;
	my ($failed, $end, @first);
	open(my $in, '<', "$work/out") or die "$work/out: $!\n"; # read line by line, because the output may be long
	while (my $line = <$in>) {
		push @first, $line if @first < 20;
		if ($line =~ /^(\s*)--- FAIL: (\S+)/) { $failed = $2 if !$failed || $1 }
		elsif ($line =~ /^panic: test timed out/) { $end ||= 'a test that never ends' }
		elsif ($line =~ /^panic: /) { $end ||= 'a panic' }
		last if $failed && $failed =~ m{/} || $end;
	}
	return $failed || $end || die @first;
}

sub overlay {
	my ($m) = @_;
	my $src = slurp($m->{file});
	my $n = () = $src =~ /\Q$m->{old}\E/g;
	die "the old text stands $n times in $m->{file}\n" if $n != 1;
	$src =~ s/\Q$m->{old}\E/$m->{new}/;
	spew("$work/mutated.go", $src);
	spew("$work/overlay.json", sprintf('{"Replace": {"%s/%s": "%s/mutated.go"}}', getcwd(), $m->{file}, $work));
	return "-overlay=$work/overlay.json";
}

$| = 1;
my @mutations = grep { index($_->{name}, $only) >= 0 } parse();
die "no mutation is named like $only\n" unless @mutations;
my %seen = ($stages[4] => 1); # skip this stage: it runs the same tests as the first stage, only with more schedules
for my $stage (grep { !$seen{$_}++ } map { @{$_->{stages}} } @mutations) {
	my $failed = run('', $stage);
	die "without any mutation, $failed fails\n" if $failed;
}
my $bad = 0;
for my $m (@mutations) {
	my $by = eval {
		my $o = overlay($m);
		my $failed;
		for my $stage (@{$m->{stages}}) { last if $failed = run($o, $stage) }
		$failed;
	};
	my $verdict = $@ ? "BROKEN: $@" : $by ? "caught by $by" : 'SURVIVED';
	chomp $verdict;
	$bad++ unless $by;
	printf "%-45s %s\n", $m->{name}, $verdict;
}
printf "%d mutations, %d of them not caught\n", scalar @mutations, $bad;
exit($bad ? 1 : 0);
PERL
