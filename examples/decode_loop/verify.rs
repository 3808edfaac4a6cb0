//! Verifying drafted tokens: a sibling graph that feeds several tokens in one replay.
//!
//! A cheap guess says which tokens may come next. The model is fed the last token and the guesses behind it, each at its position, and
//! says after each which token it would have chosen itself. Guesses that agree are accepted, the first that does not is
//! corrected: so the tokens are those of decoding one by one. What a wrong guess leaves in the caches stands at positions that
//! are written anew before they are read.

use std::error::Error;
use std::time::{Duration, Instant};

use dacapo::{Buffer, Device, Enqueue, Pinned, Published, Resting, State, Stream, ThreadLocal};

use crate::model::{Model, size};

/// The words through which the host talks to a graph of so many steps.
struct Verifier {
    width: usize,
    /// `{token, position}` of each step.
    input: Buffer<u32>,
    next_tokens: Buffer<u32>,
    host_input: Pinned<u32>,
    host_next_tokens: Pinned<u32>,
}

/// What came of it.
pub(crate) struct Verified {
    pub(crate) width: usize,
    pub(crate) tokens: Vec<u8>,
    /// Replays of the verifying graph, and before that of the decoding one, for the prompt.
    pub(crate) replays: u64,
    pub(crate) prompt_steps: u64,
    /// Guesses that were fed or compared, and those that the model agreed with.
    pub(crate) drafted: usize,
    pub(crate) accepted: usize,
    /// From the first verification on.
    pub(crate) per_token: Duration,
}

impl Verified {
    /// Steps that the device has run for it.
    pub(crate) fn steps(&self) -> u64 {
        self.replays * self.width as u64 + self.prompt_steps
    }
}

impl Verifier {
    fn new<S: State + Resting>(device: &Device, stream: &mut Stream<S>, width: usize) -> Result<Self, dacapo::Error> {
        Ok(Self {
            width,
            input: stream.alloc(2 * width)?,
            next_tokens: stream.alloc(width)?,
            host_input: device.pinned(2 * width)?,
            host_next_tokens: device.pinned(width)?,
        })
    }

    /// One step after the other, from what the host has written to what it will read.
    fn enqueue(&self, model: &Model, stream: &mut impl Enqueue) -> Result<(), dacapo::Error> {
        stream.upload(&self.host_input, &self.input)?;
        for step in 0..self.width {
            let (input, next) = (self.input.slice(2 * step..2 * step + 2)?, self.next_tokens.slice(step..=step)?);
            model.forward(stream, &input, &next)?;
        }
        stream.download(&self.next_tokens, &self.host_next_tokens)
    }

    /// Feeds `tokens` from `position` on, and returns what the model chooses after each.
    fn verify(
        &self,
        published: &mut Stream<Published>,
        tokens: impl Iterator<Item = u8>,
        position: usize,
    ) -> Result<Vec<u8>, dacapo::Error> {
        let words: Vec<u32> =
            tokens.zip(position..).flat_map(|(token, position)| [u32::from(token), size(position)]).collect();
        self.host_input.write(&words)?;
        published.replay()?;
        published.synchronize()?;
        // The kernel returns indices into the vocabulary.
        Ok(self.host_next_tokens.to_vec().into_iter().map(|token| u8::try_from(token).unwrap_or(u8::MAX)).collect())
    }
}

/// Decodes what `decode`'s graph decodes, with a sibling of it that verifies `width` drafted tokens a replay.
pub(crate) fn decode(
    model: &Model,
    decode: &mut Stream<Published>,
    prompt: &[u8],
    tokens: usize,
    width: usize,
) -> Result<Verified, Box<dyn Error>> {
    let device = decode.device().clone();
    let verifier = Verifier::new(&device, decode, width)?;
    // The one graph stays published while the other is captured.
    let captured = decode.sibling().capture(ThreadLocal, |c| verifier.enqueue(model, c))?;
    let mut verify = captured.publish()?;

    let mut run = Verified {
        width,
        tokens: Vec::new(),
        replays: 0,
        prompt_steps: prompt.len() as u64 - 1,
        drafted: 0,
        accepted: 0,
        per_token: Duration::ZERO,
    };
    for (position, &token) in prompt[..prompt.len() - 1].iter().enumerate() {
        model.set_input(token, position)?;
        decode.replay()?;
        decode.synchronize()?;
    }
    let mut text = prompt.to_vec();
    let start = Instant::now();
    while text.len() < prompt.len() + tokens {
        let (position, wanted) = (text.len() - 1, prompt.len() + tokens - text.len());
        // Past the end of the context the kernels do nothing, and what is chosen there is not wanted.
        let drafted = draft(&text, width);
        let fed = [text[position]].into_iter().chain(drafted.iter().copied()).take(width);
        let chosen = verifier.verify(&mut verify, fed, position)?;
        let agreed = drafted.iter().zip(&chosen).take_while(|(drafted, chosen)| drafted == chosen).count();
        // The model's own choice comes after the last that it agreed with.
        let new = (agreed + 1).min(width).min(wanted);
        text.extend_from_slice(&chosen[..new]);
        run.replays += 1;
        run.drafted += width;
        run.accepted += agreed.min(new);
    }
    run.per_token = start.elapsed() / u32::try_from(tokens)?;
    run.tokens = text.split_off(prompt.len());
    Ok(run)
}

/// Guesses what comes next: what came after the same few tokens before.
fn draft(text: &[u8], width: usize) -> Vec<u8> {
    let mut guessed = text.to_vec();
    for _ in 0..width {
        let longest = (1..=3).rev().filter_map(|length| followed_before(&guessed, length)).next();
        guessed.extend(longest.or(guessed.last().copied()));
    }
    guessed.split_off(text.len())
}

/// What followed when the last `length` tokens stood in the text before, the last time.
fn followed_before(text: &[u8], length: usize) -> Option<u8> {
    let end = text.len().checked_sub(length)?;
    let start = (0..end).rev().find(|&start| text[start..start + length] == text[end..])?;
    text.get(start + length).copied()
}
