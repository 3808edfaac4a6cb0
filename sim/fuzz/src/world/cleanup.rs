//! The end of a sequence: everything ended, waited for, looked at and destroyed.

use super::World;
use crate::names::{Name, Object, Place};

impl World {
    /// Ends the captures that this thread can end, and gives the thread back as it was.
    pub(crate) fn leave(&mut self, thread: usize) {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        driver.cuThreadExchangeStreamCaptureMode(&mut 0);
        for place in (0..machine.places()).map(Place) {
            driver.cuCtxSetCurrent(machine.site(place).context);
            self.current[thread] = place;
            for (_, stream) in self.visible(thread) {
                if self.capture_of(stream).is_ok_and(|capture| capture.is_none()) {
                    continue;
                }
                let mut graph = 0;
                let code = driver.cuStreamEndCapture(stream, &mut graph);
                let filled = self.filling.iter().position(|(_, filled)| self.handle(*filled) == graph);
                match filled.filter(|_| code == 0) {
                    Some(filled) => {
                        self.filling.swap_remove(filled);
                    }
                    None if code == 0 && graph != 0 => {
                        driver.cuGraphDestroy(graph);
                    }
                    None => {}
                }
            }
            self.observe(thread);
        }
        driver.cuCtxSetCurrent(machine.site(Place(0)).context);
        self.current[thread] = Place(0);
    }

    /// After every thread has left: waits for all work and reads what it has done, then destroys everything. Runs on the first
    /// thread.
    pub(crate) fn finish(&mut self) -> String {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        // Some captures can be ended in no other way.
        let capturing: Vec<u64> = self
            .visible(0)
            .into_iter()
            .map(|(_, stream)| stream)
            .filter(|stream| self.capture_of(*stream) != Ok(None))
            .collect();
        for stream in capturing {
            driver.cuStreamDestroy_v2(stream);
            self.objects.retain(|name, handle| name.letter != 's' || *handle != stream);
        }
        self.observe(0);
        let mut text = crate::call::END.to_owned();
        // Work of one device may write to another: nothing is read before all are done.
        let places = (0..machine.places()).map(Place);
        let synchronised = places.map(|place| {
            driver.cuCtxSetCurrent(machine.site(place).context);
            (place, driver.cuCtxSynchronize())
        });
        for (place, code) in synchronised.collect::<Vec<_>>() {
            driver.cuCtxSetCurrent(machine.site(place).context);
            text.push_str(&format!(" {place}:{code}"));
            match machine.read_cells(place) {
                Ok(cells) => cells.iter().for_each(|(cell, word)| text.push_str(&format!(" {cell}={word}"))),
                Err(code) => text.push_str(&format!(" unread:{code}")),
            }
        }
        text.push_str(&format!(" host={}", crate::machine::host_calls() - self.host_calls));
        self.destroy_all();
        for place in (0..machine.places()).map(Place) {
            driver.cuCtxSetCurrent(machine.site(place).context);
            self.peers.iter().filter(|(from, _)| *from == place).for_each(|(_, to)| {
                driver.cuCtxDisablePeerAccess(machine.site(*to).context);
            });
            machine.clear_cells(place);
            driver.cuCtxSynchronize();
        }
        driver.cuCtxSetCurrent(machine.site(Place(0)).context);
        text
    }

    /// Whether this thread can make an unsafe call, which it cannot if some capture is left over.
    pub(crate) fn is_clean(&self) -> bool {
        !self.undead && self.machine.driver.cuStreamQuery(self.machine.idle) == 0
    }

    fn destroy_all(&mut self) {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        let objects = std::mem::take(&mut self.objects);
        // Memory of graphs is freed while its graph is there, and events go after the nodes that name them.
        for letter in ['p', 'x', 'g', 'o', 'e', 's', 'm', 'h'] {
            for (name, handle) in objects.iter().filter(|(name, _)| name.letter == letter) {
                match *name {
                    Name { letter: 'p', .. } => driver.cuMemFree_v2(*handle),
                    Name { letter: 'x', .. } => driver.cuGraphExecDestroy(*handle),
                    Name { letter: 'g', .. } => driver.cuGraphDestroy(*handle),
                    Name { letter: 'o', number } => {
                        let held = self.held.get(&Object(number)).copied().unwrap_or(0);
                        if held == 0 { 0 } else { driver.cuUserObjectRelease(*handle, held) }
                    }
                    Name { letter: 'e', .. } => driver.cuEventDestroy_v2(*handle),
                    Name { letter: 's', .. } => driver.cuStreamDestroy_v2(*handle),
                    Name { letter: 'm', .. } => driver.cuModuleUnload(*handle),
                    _ => driver.cuMemFreeHost(*handle),
                };
            }
        }
    }
}
